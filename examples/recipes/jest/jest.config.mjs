export default { globalSetup: "./setup.mjs", globalTeardown: "./teardown.mjs", testMatch: ["**/*.test.cjs"] };
