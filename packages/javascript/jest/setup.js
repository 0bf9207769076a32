"use strict";
const { freshDatabase } = require("../index.js");

/** Jest waits for it before it loads a test file. */
module.exports = () => freshDatabase();
