/* A software rasteriser, the stand-in for SPEC's mesa: a textured and lit torus by edge functions (Pineda, "A
   parallel algorithm for polygon rasterization", SIGGRAPH 1988) with a depth buffer (Catmull, 1974) and
   perspective-correct texture coordinates. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kWide = 512, kHigh = 512, kAround = 96, kAcross = 48, kTexture = 256, kFrames = 2 };
enum { kVertices = (kAround + 1) * (kAcross + 1), kTriangles = kAround * kAcross * 2 };

struct vertex {
  float place[3], normal[3], texture[2]; /* of the object */
  float x, y, depth, inverse, light;     /* on the screen; depth is 1 at the far end */
};
static struct vertex vertices[kVertices];
static int triangles[kTriangles][3];
static uint8_t texture[kTexture][kTexture][4], colours[kHigh][kWide][4];
static float depths[kHigh][kWide];

static void make_scene(void) {
  const float turn = 6.2831853f;
  for (int i = 0; i <= kAround; ++i)
    for (int j = 0; j <= kAcross; ++j) {
      struct vertex* const v = &vertices[i * (kAcross + 1) + j];
      const float a = turn * (float)i / kAround, b = turn * (float)j / kAcross;
      v->normal[0] = cosf(b) * cosf(a);
      v->normal[1] = cosf(b) * sinf(a);
      v->normal[2] = sinf(b);
      v->place[0] = (2 + cosf(b)) * cosf(a);
      v->place[1] = (2 + cosf(b)) * sinf(a);
      v->place[2] = sinf(b);
      v->texture[0] = 4 * (float)i / kAround;
      v->texture[1] = 2 * (float)j / kAcross;
    }
  for (int i = 0, at = 0; i < kAround; ++i)
    for (int j = 0; j < kAcross; ++j) {
      const int corner = i * (kAcross + 1) + j, next = corner + kAcross + 1;
      const int two[2][3] = {{corner, next, corner + 1}, {corner + 1, next, next + 1}};
      memcpy(triangles[at], two, sizeof two);
      at += 2;
    }
  for (int i = 0; i < kTexture; ++i)
    for (int j = 0; j < kTexture; ++j)
      for (int c = 0; c < 4; ++c) texture[i][j][c] = (uint8_t)((i ^ j) + 64 * c);
}

static void project(float angle) {
  const float c = cosf(angle), s = sinf(angle);
  for (int i = 0; i < kVertices; ++i) {
    struct vertex* const v = &vertices[i];
    const float y = c * v->place[1] - s * v->place[2], z = s * v->place[1] + c * v->place[2] + 7;
    v->inverse = 1 / z;
    v->x = kWide * (0.5f + v->place[0] * v->inverse);
    v->y = kHigh * (0.5f + y * v->inverse);
    v->depth = (1 / 3.f - v->inverse) / (1 / 3.f - 1 / 11.f);
    v->light = 0.2f + 0.8f * fabsf(s * v->normal[1] + c * v->normal[2]);
  }
}

static float edge(const struct vertex* a, const struct vertex* b, float x, float y) {
  return (b->x - a->x) * (y - a->y) - (b->y - a->y) * (x - a->x);
}

/* The weights of the corners at a point, or 0: it lies outside. */
static int weights(const struct vertex* const* v, float x, float y, float* weight) {
  const float area = edge(v[0], v[1], v[2]->x, v[2]->y);
  if (area == 0) return 0;
  for (int k = 0; k < 3; ++k) {
    weight[k] = edge(v[(k + 1) % 3], v[(k + 2) % 3], x, y) / area;
    if (weight[k] < 0) return 0;
  }
  return 1;
}

static void shade(const struct vertex* const* v, const float* weight, uint8_t* colour) {
  float inverse = 0, s = 0, t = 0, light = 0;
  for (int k = 0; k < 3; ++k) {
    inverse += weight[k] * v[k]->inverse;
    s += weight[k] * v[k]->inverse * v[k]->texture[0];
    t += weight[k] * v[k]->inverse * v[k]->texture[1];
    light += weight[k] * v[k]->light;
  }
  const uint8_t* const texel =
      texture[(int)(t / inverse * kTexture) & (kTexture - 1)][(int)(s / inverse * kTexture) & (kTexture - 1)];
  for (int c = 0; c < 3; ++c) colour[c] = (uint8_t)(light * texel[c]);
  colour[3] = 255;
}

static int low(float a, float b, float c) { return (int)floorf(fminf(a, fminf(b, c))); }
static int high(float a, float b, float c) { return (int)ceilf(fmaxf(a, fmaxf(b, c))); }

static void draw(void) {
  for (int i = 0; i < kHigh; ++i)
    for (int j = 0; j < kWide; ++j) {
      depths[i][j] = 1;
      memset(colours[i][j], 0, 4);
    }
  for (int i = 0; i < kTriangles; ++i) {
    const struct vertex* const v[3] = {&vertices[triangles[i][0]], &vertices[triangles[i][1]],
                                       &vertices[triangles[i][2]]};
    const int bottom = high(v[0]->y, v[1]->y, v[2]->y), right = high(v[0]->x, v[1]->x, v[2]->x);
    for (int y = low(v[0]->y, v[1]->y, v[2]->y); y <= bottom; ++y)
      for (int x = low(v[0]->x, v[1]->x, v[2]->x); x <= right; ++x) {
        float weight[3];
        if (y < 0 || y >= kHigh || x < 0 || x >= kWide) continue;
        if (!weights(v, (float)x + 0.5f, (float)y + 0.5f, weight)) continue;
        const float depth = weight[0] * v[0]->depth + weight[1] * v[1]->depth + weight[2] * v[2]->depth;
        if (depth >= depths[y][x]) continue;
        depths[y][x] = depth;
        shade(v, weight, colours[y][x]);
      }
  }
}

/* Every 149th pixel against all triangles, without bounds or buffers. */
static int is_right(void) {
  int covered = 0;
  for (int pixel = 0; pixel < kWide * kHigh; pixel += 149) {
    const int x = pixel % kWide, y = pixel / kWide;
    float nearest = 1, weight[3];
    uint8_t colour[4] = {0};
    for (int i = 0; i < kTriangles; ++i) {
      const struct vertex* const v[3] = {&vertices[triangles[i][0]], &vertices[triangles[i][1]],
                                         &vertices[triangles[i][2]]};
      if (!weights(v, (float)x + 0.5f, (float)y + 0.5f, weight)) continue;
      const float depth = weight[0] * v[0]->depth + weight[1] * v[1]->depth + weight[2] * v[2]->depth;
      if (depth >= nearest) continue;
      nearest = depth;
      shade(v, weight, colour);
      ++covered;
    }
    if (fabsf(nearest - depths[y][x]) > 1e-6f || memcmp(colour, colours[y][x], 4) != 0) return 0;
  }
  return covered > 300;
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  make_scene();
  for (int frame = 0; !idle && frame < kFrames; ++frame) {
    project(0.6f + 0.1f * (float)frame);
    draw();
  }
  return check && !is_right() ? 2 : 0;
}
