// Defines a kind of agent: its common configuration, its dependencies, and the result of opening one.
import type { GuardedFetch, Log, OpenStream, System } from '@postern/message'
import { agentAccessShape, defaultMentionPolicy, mentionPolicies, messageKinds, parseDuration } from '@postern/message'
import type { Agent, HumanOperators, QueueMode, QueueModeName, SecretStore } from '@postern/pipeline'
import { agentPeopleShape, credentialUses, queueModes } from '@postern/pipeline'
import type { RecordStore, ThreadKey, TranscriptStore } from '@postern/transcript'
import { z } from 'zod'
import { durationSchema } from '../config/duration.ts'
import { profileConfigShape } from '../config/profile.ts'
import { historyViews } from './history-view.ts'

const maxWindowMs = 10_000

const windowSchema = durationSchema.refine(
  text => parseDuration(text) <= maxWindowMs,
  `must be at most ${maxWindowMs / 1000}s: the sender waits as long`,
)

/** The times by which a message is durable. */
const durabilities = ['before_agent', 'with_answer'] as const

/** The limits of concurrent turns, and the treatment of messages that arrive during a turn. */
const queueConfigShape = {
  /** Turns of the agent at a time; turns that wait for another agent do not count, nor answers that are being stored; default: 32. */
  concurrency: z.int().min(1).max(1_000).optional(),
  /**
   * The way to treat messages that arrive while the agent works on their conversation. Messages of unproven senders always have their own turns,
   * in order.
   */
  queue: z
    .union([
      z.enum(queueModes),
      z.strictObject({
        /** Answer the messages together. */
        mode: z.literal('merge'),
        /** Time for which a message waits for further ones of its sender. */
        window: windowSchema,
      }),
    ])
    .default('queue'),
}

/** Reads the queue mode; undefined if each message has its own turn in order. */
export function readQueueMode(queue: z.output<typeof queueConfigShape.queue>): QueueMode | undefined {
  const mode: QueueModeName = typeof queue === 'string' ? queue : queue.mode
  if (mode === 'queue') return undefined
  return { mode, ...(typeof queue === 'object' && { windowMs: parseDuration(queue.window) }) }
}

/** The configuration that every agent may have, whatever its kind. */
export const commonAgentSchema = z.strictObject({
  /** Code or service that answers: a path, `builtin:<name>`, or the name of a kind. */
  use: z.string(),
  ...profileConfigShape,
  /** Longest time for one turn. */
  deadline: durationSchema.default('60s'),
  /** Time by which a message is on disk; default: `with_answer` for modules and `builtin:` agents, `before_agent` for others. */
  durable: z.enum(durabilities).optional(),
  /** Part of a conversation's past that the agent gets. */
  history: z
    .strictObject({
      /** Turns at the start of the conversation that always stay; half of `max_turns` at most; default: 2. */
      keep_head: z.int().min(0).max(100).optional(),
      /** Turns in all; default: 40. */
      max_turns: z.int().min(0).max(1_000).optional(),
      /** Characters of text and tool calls in all; default: 48000. */
      max_chars: z.int().min(0).max(10_000_000).optional(),
      /** View of the past that the gateway trims. */
      view: z.enum(historyViews).default('sliding'),
      /** Messages that a view keeps; default: as the view has it. */
      keep: z.int().min(0).max(400).optional(),
    })
    .default({ view: 'sliding' }),
  /** Kinds of messages that the agent gets; it gets no others. With `forget` a webhook is called for people whom it has to forget. */
  receives: z.array(z.enum([...messageKinds, 'forget'])).default(['message']),
  /**
   * People whom the text may mention besides the member `mentions`: nobody (`named`), people who wrote in the conversation (`conversation`), or
   * everybody (`any`).
   */
  mentions: z.enum(mentionPolicies).default(defaultMentionPolicy),
  /** The calls of agents elsewhere that say who calls: those that the other agent wants so (`asked`), or all of them (`always`). */
  credentials: z.enum(credentialUses).default('asked'),
  ...agentAccessShape,
  ...agentPeopleShape,
  ...queueConfigShape,
})

export type CommonAgentConfig = z.output<typeof commonAgentSchema>

/** The functions that let an agent act outside of its own turn. */
export interface AgentSystem extends Pick<System, 'now' | 'sleep' | 'randomBytes'> {
  /** Fetches from one origin that the operator named and trusts, private or not. */
  fetchFor(origin: string): GuardedFetch & { readonly openStream: OpenStream }
}

/** The storage of agents in addition to their state of a thread. */
export interface AgentStores extends Pick<SecretStore, 'openSecret'> {
  readonly records: RecordStore
  readonly transcript: TranscriptStore & {
    /** Adds a conversation of the store to a thread. It returns false if the number is unknown. */
    bindStore(thread: ThreadKey, conversation: number): Promise<boolean>
  }
}

/** Everything a kind may use to open one of its agents. */
export interface AgentOpenDeps {
  /** The agent's name, as in its configuration key `agents.<name>`. */
  readonly name: string
  readonly system: AgentSystem
  /** The folder against which relative paths in the configuration are resolved. */
  readonly baseDir: string
  readonly log: Log
  readonly stores: AgentStores
  /** Absent if there are no human operators. */
  readonly operators?: HumanOperators | undefined
}

export interface OpenedAgent {
  readonly agent: Agent
  /** The default of the displayed name. */
  readonly displayName?: string | undefined
  readonly description?: string | undefined
  close?(): Promise<void> | void
}

interface AgentKindDefinition<Config extends CommonAgentConfig> {
  /** The notation of `use`, for people. */
  readonly useNotation: string
  /** Matches every value of `use` that selects this kind. */
  readonly usePattern: RegExp
  readonly schema: z.ZodObject & z.ZodType<Config>
  /** True if the agent runs in this process, so that an answer costs nothing, and only the agent's own code sends data elsewhere. */
  readonly runsHere?: true
  /** Returns true if one opened agent serves all agents with the same settings, because nothing in it depends on a name. Default: false. */
  isShareable?(config: Config): boolean
  /** Opens an agent of this kind. @throws ConfigError */
  open(config: Config, deps: AgentOpenDeps): Promise<OpenedAgent>
}

/** One kind of agent. Each kind has a file and an entry in the table of `kinds.ts`. */
export interface AgentKind extends Omit<AgentKindDefinition<CommonAgentConfig>, 'open' | 'isShareable'> {
  /** Returns true if one opened agent serves all agents with these settings, which are valid by the kind's schema. */
  isShareable(config: CommonAgentConfig): boolean
  /** Opens an agent of this kind. `config` is valid by the kind's schema. @throws ConfigError */
  open(config: CommonAgentConfig, deps: AgentOpenDeps): Promise<OpenedAgent>
}

/** Defines a kind. It hides the kind's own configuration type, so that different kinds fit into one table. */
export function defineAgentKind<Config extends CommonAgentConfig>(definition: AgentKindDefinition<Config>): AgentKind {
  return {
    ...definition,
    isShareable: config => definition.isShareable?.(config as Config) === true,
    open: (config, deps) => definition.open(config as Config, deps),
  }
}
