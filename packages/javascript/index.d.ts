/** The environment of the process by default. */
type Environment = Record<string, string | undefined>;

/** Returns the words of the command: FARADISC_BIN, `faradisc` on the PATH, or `python -m faradisc`. Throws Error. */
export function findCommand(environment?: Environment): string[];

export interface Settings {
  /** Options of `faradisc serve`, such as `["--seed", "tests/seed", "--throughput", "aws:30/10"]`. */
  options?: string[];
  environment?: Environment;
}

export interface Server {
  /** The endpoint, on this machine. */
  url: string;
  /** Empties the database; what `--seed` names is created again. */
  reset(): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a server in memory on a free port. Rejects, with the server's output, if it ends before it is ready. */
export function startServer(settings?: Settings): Promise<Server>;

export interface Pool {
  /** What FARADISC_POOL is set to, for `freshDatabase` in the workers. */
  url: string;
  /** Stops all servers. */
  stop(): Promise<void>;
}

/** Starts what gives out servers, one for each worker of the test runner. For a global set-up. */
export function startPool(settings?: Settings): Promise<Pool>;

/**
 * Returns the address of an empty database for one test file, and sets the environment of the AWS SDK to it.
 * worker: of the test runner; by default VITEST_POOL_ID or JEST_WORKER_ID.
 */
export function freshDatabase(worker?: string): Promise<string>;
