"use strict";
const { startPool } = require("../index.js");

/** `globals: { faradisc: { options: [...] } }` in the configuration has the options of the servers. */
module.exports = async (_, project) => {
  globalThis.__FARADISC_POOL__ = await startPool(project?.globals?.faradisc);
};
