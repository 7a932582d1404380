# Writes TO/charts.js: the library of the charts with its licences in front, from what FROM/package-lock.json names.
# NPM is the program. Where that fails the file is empty and the reason is printed: a build does not need a network.
set(work ${TO}/work)
file(REMOVE_RECURSE ${work})
file(COPY ${FROM}/package.json ${FROM}/package-lock.json ${FROM}/charts.js DESTINATION ${work})

# Ends, with what the command printed, where it fails.
macro(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${work} TIMEOUT 180 RESULT_VARIABLE status OUTPUT_VARIABLE said
                  ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message("No charts in pages: ${said}The pages of `substrata report --html` and `serve` show tables instead. "
            "To try again: cmake ${TO}/..")
    file(WRITE ${TO}/charts.js "")
    file(REMOVE_RECURSE ${work})
    return()
  endif()
endmacro()

# No script of a package is run.
run(${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error --fetch-retries=1
    --fetch-retry-mintimeout=1000 --fetch-timeout=60000)
run(${work}/node_modules/esbuild/bin/esbuild charts.js --bundle --minify --charset=ascii --format=iife
    --legal-comments=none --global-name=charts --outfile=bundle.js)

file(GLOB licences LIST_DIRECTORIES false ${work}/node_modules/echarts/NOTICE ${work}/node_modules/echarts/LICENSE
     ${work}/node_modules/echarts/licenses/* ${work}/node_modules/zrender/LICENSE ${work}/node_modules/tslib/LICENSE.txt)
set(notice "")
foreach(file IN LISTS licences)
  file(READ ${file} text)
  file(RELATIVE_PATH name ${work}/node_modules ${file})
  string(APPEND notice "${name}\n\n${text}\n\n")
endforeach()
string(REPLACE "*/" "* /" notice "${notice}")
string(REPLACE "</" "< /" notice "${notice}")
file(READ ${work}/bundle.js bundle)
string(FIND "${bundle}" "</script" closing)
if(NOT closing EQUAL -1)
  message(FATAL_ERROR "the library would close the element of the page that it stands in")
endif()
file(WRITE ${TO}/charts.js "/*\n${notice}*/\n${bundle}")
file(REMOVE_RECURSE ${work})
