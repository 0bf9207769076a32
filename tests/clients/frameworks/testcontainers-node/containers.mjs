import { GenericContainer, Wait } from "testcontainers";

/* of the page */
const answer = await fetch(`${endpoint}/health/ready`);
await faradisc.stop();
console.log(JSON.stringify({ status: answer.status }));
