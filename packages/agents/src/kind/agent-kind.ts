import type { Agent, GuardedFetch, Log, OpenStream, Platform, QueueMode, QueueModeName } from '@postern/core'
import { agentAccessShape, agentPeopleShape, messageKinds, parseDuration, queueModes } from '@postern/core'
import type { RecordStore, ThreadKey, TranscriptStore } from '@postern/transcript'
import { z } from 'zod'
import { durationSchema } from '../config/duration.ts'
import { profileConfigShape } from '../config/profile.ts'
import { historyViews } from './history-view.ts'

const longestWindowMs = 10_000

const windowSchema = durationSchema.refine(
  text => parseDuration(text) <= longestWindowMs,
  `must be at most ${longestWindowMs / 1000}s: the sender waits as long`,
)

/** How much of an agent runs at once, and what becomes of messages that come meanwhile. */
const queueConfigShape = {
  /** Turns of the agent at a time; turns that wait for another agent do not count, nor answers that are being stored; default: 32. */
  concurrency: z.int().min(1).max(1_000).optional(),
  /** What happens to messages that arrive while the agent works on their conversation. */
  queue: z
    .union([
      z.enum(queueModes),
      z.strictObject({
        /** Answer the messages together. */
        mode: z.literal('merge'),
        /** How long a message waits for further ones of its sender. */
        window: windowSchema,
      }),
    ])
    .default('queue'),
}

/** Undefined: each message in its order. */
export function readQueueMode(queue: z.output<typeof queueConfigShape.queue>): QueueMode | undefined {
  const mode: QueueModeName = typeof queue === 'string' ? queue : queue.mode
  if (mode === 'queue') return undefined
  return { mode, ...(typeof queue === 'object' && { windowMs: parseDuration(queue.window) }) }
}

/** What every agent may be configured with, whatever its kind. */
export const commonAgentSchema = z.strictObject({
  /** What answers: a path, `builtin:<name>`, or the name of a kind. */
  use: z.string(),
  ...profileConfigShape,
  /** Longest time for one turn. */
  deadline: durationSchema.default('60s'),
  /** How much of a conversation's past the agent gets. */
  history: z
    .strictObject({
      /** Turns at the start of the conversation that always stay; half of `max_turns` at most; default: 2. */
      keep_head: z.int().min(0).max(100).optional(),
      /** Turns in all; default: 40. */
      max_turns: z.int().min(0).max(1_000).optional(),
      /** Characters of text and tool calls in all; default: 48000. */
      max_chars: z.int().min(0).max(10_000_000).optional(),
      /** Which view of the past the gateway trims. */
      view: z.enum(historyViews).default('sliding'),
      /** Messages that a view keeps; default: as the view has it. */
      keep: z.int().min(0).max(400).optional(),
    })
    .default({ view: 'sliding' }),
  /** Kinds of messages that the agent gets; it gets no others. */
  receives: z.array(z.enum(messageKinds)).default(['message']),
  ...agentAccessShape,
  ...agentPeopleShape,
  ...queueConfigShape,
})

export type CommonAgentConfig = z.output<typeof commonAgentSchema>

/** What an agent needs beyond its own turn. */
export interface AgentPlatform extends Pick<Platform, 'now' | 'sleep' | 'randomBytes'> {
  /** Fetches from one origin that the operator named and trusts, private or not. */
  fetchFor(origin: string): GuardedFetch & { readonly openStream: OpenStream }
}

/** Storage of agents beyond their state of a thread. */
export interface AgentStores {
  readonly records: RecordStore
  readonly transcript: TranscriptStore & {
    /** Makes a conversation of the store part of a thread. False for an unknown number. */
    bindStore(thread: ThreadKey, conversation: number): Promise<boolean>
  }
}

/** Humans who answer for an agent. */
export interface HumanOperators {
  /** A human's answer. Rejects when the signal aborts. */
  ask(question: OperatorQuestion): Promise<string>
  /** A human's answer to a question, by its id. False when nobody waits for it (any more). */
  answer(id: string, text: string): Promise<boolean>
}

export interface OperatorQuestion {
  readonly agent: string
  /** The agent that asks, if several share the address. */
  readonly member: string
  /** The person who waits. */
  readonly from: string
  readonly text: string
  readonly correlationId: string
  /** Another address for the question. */
  readonly mail?: string | undefined
  readonly signal: AbortSignal
}

/** Everything a kind may use to open one of its agents. */
export interface Opening {
  /** The agent's name, for its configuration key `agents.<name>`. */
  readonly name: string
  readonly platform: AgentPlatform
  /** Folder that relative paths in the configuration start from. */
  readonly baseDir: string
  readonly log: Log
  readonly stores: AgentStores
  /** Absent where there are none. */
  readonly operators?: HumanOperators | undefined
}

export interface OpenedAgent {
  readonly agent: Agent
  /** The defaults of what is shown. */
  readonly displayName?: string | undefined
  readonly description?: string | undefined
  close?(): Promise<void> | void
}

interface KindDeps<Config extends CommonAgentConfig> {
  /** How `use` is written, for people. */
  readonly usage: string
  /** Every value of `use` that means this kind. */
  readonly uses: RegExp
  readonly schema: z.ZodObject & z.ZodType<Config>
  /** It runs in this process: its answer costs nothing and is seen by nobody else, unless its own code sees to that. */
  readonly runsHere?: true
  /** @throws ConfigError */
  open(config: Config, opening: Opening): Promise<OpenedAgent>
}

/** One way to plug an agent in: a row of the table in `kinds.ts` and a file. */
export interface AgentKind extends Omit<KindDeps<CommonAgentConfig>, 'open'> {
  /** @throws ConfigError */
  open(config: unknown, opening: Opening): Promise<OpenedAgent>
}

/** Hides a kind's own configuration type, so that different kinds fit one table. */
export function defineAgentKind<Config extends CommonAgentConfig>(deps: KindDeps<Config>): AgentKind {
  return { ...deps, open: (config, opening) => deps.open(deps.schema.parse(config), opening) }
}
