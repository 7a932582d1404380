/* A router of nets over the channels of an array of logic blocks, the stand-in for SPEC's vpr, whose input in
   the paper is `route`: negotiated congestion by Dijkstra's search after McMurchie and Ebeling, "PathFinder:
   a negotiation-based performance-driven router for FPGAs", FPGA 1995, as in Betz and Rose, "VPR: a new
   packing, placement and routing tool for FPGA research", FPL 1997. */
#include <stdlib.h>
#include <string.h>

enum { kSide = 80, kNodes = kSide * kSide, kNets = 1600, kMostPins = 6, kReach = 12, kMostRounds = 60 };
enum { kWires = 10 }; /* that a switch block lets through */

/* One switch block with its wires. */
struct node {
  int x, y, edges, used;
  struct node* edge[4];
  float history, cost;
  struct node* before;
  int search, target, tree; /* numbers of the search and nets that touched it last */
};
struct net {
  int pins, nodes;
  struct node* pin[kMostPins];
  struct node** node; /* its tree */
};
struct entry {
  float cost;
  struct node *node, *before;
};
static struct node* nodes;
static struct net nets[kNets];
static struct entry* heap;
static int heap_size, heap_capacity, searches;

static unsigned next_random(unsigned below) {
  static unsigned long long state = 20050504;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % below;
}

static int push(float cost, struct node* node, struct node* before) {
  int at = heap_size++;
  if (at == heap_capacity) {
    struct entry* const larger =
        realloc(heap, (size_t)(heap_capacity = 2 * heap_capacity + 64) * sizeof *heap);
    if (larger == NULL) return 0;
    heap = larger;
  }
  while (at > 0 && heap[(at - 1) / 2].cost > cost) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = (struct entry){cost, node, before};
  return 1;
}

static struct entry pop(void) {
  const struct entry least = heap[0], last = heap[--heap_size];
  int at = 0;
  for (int child = 1; child < heap_size; child = 2 * at + 1) {
    if (child + 1 < heap_size && heap[child + 1].cost < heap[child].cost) ++child;
    if (heap[child].cost >= last.cost) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = last;
  return least;
}

static int make_nets(void) {
  nodes = calloc(kNodes, sizeof *nodes);
  if (nodes == NULL) return 0;
  for (int i = 0; i < kNodes; ++i) {
    struct node* const n = &nodes[i];
    n->x = i % kSide;
    n->y = i / kSide;
    n->target = n->tree = -1;
    if (n->x > 0) n->edge[n->edges++] = n - 1;
    if (n->x + 1 < kSide) n->edge[n->edges++] = n + 1;
    if (n->y > 0) n->edge[n->edges++] = n - kSide;
    if (n->y + 1 < kSide) n->edge[n->edges++] = n + kSide;
  }
  for (int i = 0; i < kNets; ++i) {
    struct net* const net = &nets[i];
    const int x = (int)next_random(kSide - kReach), y = (int)next_random(kSide - kReach);
    net->pins = 2 + (int)next_random(kMostPins - 1);
    for (int p = 0; p < net->pins; ++p)
      net->pin[p] = &nodes[(y + (int)next_random(kReach)) * kSide + x + (int)next_random(kReach)];
    /* Pointers are meant. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    net->node = malloc(kNodes * sizeof *net->node / 16);
    if (net->node == NULL) return 0;
  }
  return 1;
}

static void join(struct net* net, int number, struct node* node) {
  node->tree = number;
  ++node->used;
  net->node[net->nodes++] = node;
}

/* What one more net costs there: more if others use it now, and more if many have wanted it before. */
static float price(const struct node* node, float pressure) {
  const int over = node->used + 1 - kWires;
  return (1 + node->history) * (over > 0 ? 1 + pressure * (float)over : 1);
}

static int route(int number, float pressure) {
  struct net* const net = &nets[number];
  int missing = 0;
  for (int i = 0; i < net->nodes; ++i) {
    --net->node[i]->used;
    net->node[i]->tree = -1;
  }
  net->nodes = 0;
  join(net, number, net->pin[0]);
  for (int p = 1; p < net->pins; ++p)
    if (net->pin[p]->tree != number && net->pin[p]->target != number) {
      net->pin[p]->target = number;
      ++missing;
    }
  for (; missing > 0; --missing) {
    struct node* reached = NULL;
    ++searches;
    heap_size = 0;
    for (int i = 0; i < net->nodes; ++i)
      if (!push(0, net->node[i], NULL)) return 0;
    while (heap_size > 0 && reached == NULL) {
      const struct entry least = pop();
      struct node* const node = least.node;
      if (node->search == searches) continue;
      node->search = searches;
      node->cost = least.cost;
      node->before = least.before;
      if (node->target == number) {
        reached = node;
        break;
      }
      for (int e = 0; e < node->edges; ++e)
        if (node->edge[e]->search != searches &&
            !push(node->cost + price(node->edge[e], pressure), node->edge[e], node))
          return 0;
    }
    if (reached == NULL) return 0;
    reached->target = -1;
    for (; reached->tree != number; reached = reached->before) join(net, number, reached);
  }
  return 1;
}

/* Every net is one connected tree with all of its pins, and no switch block is used by too many. */
static int is_right(void) {
  int* const used = calloc(kNodes, sizeof *used);
  int right = used != NULL;
  for (int i = 0; right && i < kNets; ++i) {
    int edges = 0;
    for (int n = 0; n < nets[i].nodes; ++n) nets[i].node[n]->tree = i;
    for (int p = 0; p < nets[i].pins; ++p) right = right && nets[i].pin[p]->tree == i;
    ++searches;
    heap_size = 0;
    right = right && push(0, nets[i].node[0], NULL);
    while (right && heap_size > 0) {
      struct node* const node = pop().node;
      if (node->search == searches) continue;
      node->search = searches;
      ++edges;
      for (int e = 0; e < node->edges; ++e)
        if (node->edge[e]->tree == i) right = right && push(0, node->edge[e], NULL);
    }
    right = right && edges == nets[i].nodes;
    for (int n = 0; right && n < nets[i].nodes; ++n) {
      nets[i].node[n]->tree = -1;
      right = ++used[nets[i].node[n] - nodes] <= kWires;
    }
  }
  free(used);
  return right;
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  int over = 1, right = make_nets();
  float pressure = 0.5f;
  for (int round = 0; right && !idle && over > 0 && round < kMostRounds; ++round) {
    for (int i = 0; right && i < kNets; ++i) {
      right = route(i, pressure);
      for (int n = 0; n < nets[i].nodes; ++n) nets[i].node[n]->tree = -1;
    }
    over = 0;
    for (int i = 0; i < kNodes; ++i)
      if (nodes[i].used > kWires) {
        ++over;
        nodes[i].history += (float)(nodes[i].used - kWires);
      }
    pressure *= 1.5f;
  }
  if (check) right = right && over == 0 && is_right();
  for (int i = 0; i < kNets; ++i) free(nets[i].node);
  free(nodes);
  free(heap);
  return right ? 0 : 2;
}
