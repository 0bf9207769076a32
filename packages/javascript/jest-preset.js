"use strict";

module.exports = {
  globalSetup: require.resolve("./jest/global-setup.js"),
  globalTeardown: require.resolve("./jest/global-teardown.js"),
  setupFiles: [require.resolve("./jest/setup.js")],
};
