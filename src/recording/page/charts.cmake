# The library that draws the charts of the page, Apache ECharts, is fetched while the build runs: npm takes what
# package-lock.json names, compares it with the hashes there, and esbuild joins the parts that charts.js uses to one
# file in the build folder (docs/decisions/charts.md). Without npm or a network the page has tables only, and says so.
option(SUBSTRATA_CHARTS "fetch the library of the page's charts with npm" ON)

# substrata_embed_charts(<target> <source>): the source embeds that file.
function(substrata_embed_charts target source)
  set(folder ${CMAKE_BINARY_DIR}/charts)
  set(charts ${folder}/charts.js)
  file(MAKE_DIRECTORY ${folder})
  find_program(NPM npm)
  mark_as_advanced(NPM)
  # A sanitizer does not look at pages, and an emulated machine has no browser.
  if(NOT SUBSTRATA_CHARTS OR SUBSTRATA_SANITIZE OR SUBSTRATA_LAB OR NOT NPM)
    if(SUBSTRATA_CHARTS AND NOT NPM)
      message(STATUS "No npm: the pages of `substrata report --html` and `serve` show tables and no charts")
    endif()
    set(charts ${folder}/none.js)
    file(CONFIGURE OUTPUT ${charts} CONTENT "" @ONLY)
  else()
    # What a failure left is tried again at the next configuration.
    if(EXISTS ${charts})
      file(SIZE ${charts} bytes)
      if(bytes EQUAL 0)
        file(REMOVE ${charts})
      endif()
    endif()
    set(from ${CMAKE_CURRENT_SOURCE_DIR}/page)
    add_custom_command(OUTPUT ${charts}
      COMMAND ${CMAKE_COMMAND} -DNPM=${NPM} -DFROM=${from} -DTO=${folder} -P ${from}/fetch_charts.cmake
      DEPENDS ${from}/fetch_charts.cmake ${from}/charts.js ${from}/package.json ${from}/package-lock.json
      COMMENT "Fetching the library of the page's charts" VERBATIM)
    target_sources(${target} PRIVATE ${charts})
    set_source_files_properties(${charts} PROPERTIES HEADER_FILE_ONLY ON)
  endif()
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${charts}
                              COMPILE_DEFINITIONS SUBSTRATA_CHARTS_FILE="${charts}")
endfunction()
