# Run by cpack before it packs: the file by which the system's Python finds what python3-substrata holds.
file(WRITE ${CPACK_TEMPORARY_DIRECTORY}/python/usr/lib/python3/dist-packages/substrata.pth
     "${CPACK_PACKAGING_INSTALL_PREFIX}/share/substrata/python\n")
