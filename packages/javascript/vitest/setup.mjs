import faradisc from "../index.js";

await faradisc.freshDatabase();
