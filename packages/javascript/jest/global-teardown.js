"use strict";

module.exports = () => globalThis.__FARADISC_POOL__.stop();
