export default { test: { globalSetup: "./setup.mjs", include: ["**/*.test.mjs"] } };
