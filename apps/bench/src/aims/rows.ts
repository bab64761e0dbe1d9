// Lists the aims of the engine, each with the words that tables, `--json` and `docs/explanation/performance.md` share.
import type { Bound } from './bound.ts'

/** A row of the table of aims. */
export interface Aim {
  /** The text of the row. */
  readonly row: string
  /** The bound of its figure; absent for a figure without an aim. */
  readonly aim?: Bound
}

const callTitle = 'A2A `SendMessage`, durable, against the SDK in memory'
const limitedGateways = 'gateways held to 20 % of a core each, against one'

/** The list of all aims, each of which appears here once. Servers and figures of the bench refer to it. */
export const rows = {
  callAtOnce: { row: `${callTitle}, an agent that answers at once`, aim: { atLeast: 0.9 } },
  callOf20Ms: { row: `${callTitle}, an agent that takes 20 ms`, aim: { atLeast: 0.5 } },
  deliveryAgainstFedify: { row: 'ActivityPub against Fedify', aim: { atLeast: 9 } },
  deliveryAgainstFloor: { row: 'ActivityPub against the floor', aim: { atLeast: 0.4 } },
  stream: { row: 'A2A stream of three against the SDK', aim: { atLeast: 0.65 } },
  mail: { row: 'Mail against mailauth + mailparser + insert', aim: { atLeast: 0.85 } },
  run: { row: 'A run of the chat against the floor', aim: { atLeast: 0.15 } },
  fanoutAgainstFloor: { row: 'Fan-out against the floor', aim: { atLeast: 0.85 } },
  fanoutAgainstFedify: { row: 'Fan-out against Fedify', aim: { atLeast: 7.5 } },
  p99BesideUnsigned: { row: 'Honest p99 in the server beside an unsigned flood', aim: { atMost: 1.5 } },
  p99BesideForged: { row: 'Honest p99 in the server beside forged signatures', aim: { atMost: 3 } },
  refusedUnsigned: { row: 'CPU of a refused post, unsigned, against an accepted one', aim: { atMost: 0.12 } },
  refusedForged: { row: 'CPU of a refused post, forged, against an accepted one', aim: { atMost: 0.25 } },
  twoLimitedGateways: { row: `PostgreSQL: 2 ${limitedGateways}`, aim: { atLeast: 1.8 } },
  fourLimitedGateways: { row: `PostgreSQL: 4 ${limitedGateways}`, aim: { atLeast: 3.4 } },
  databaseCore: { row: 'PostgreSQL calls a second of one database core', aim: { atLeast: 3_500 } },
  admission: { row: 'Admission at 10⁶ stored against 10³', aim: { atMost: 1.4 } },
  agentsStart: { row: 'Agents: 100,000 against 10: start' },
  agentsMemory: { row: 'Agents: 100,000 against 10: memory' },
  agentsCall: { row: 'Agents: 100,000 against 10: cost of a call' },
  start: { row: 'Start (package) against bare Hono with SQLite', aim: { atMost: 3 } },
  startMemory: { row: 'RSS then (package)', aim: { atMost: 115 } },
} as const satisfies Readonly<Record<string, Aim>>
