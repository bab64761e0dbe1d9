// Defines the types of a gateway for tests. They are published, so they mention none of the gateway's own modules.
import type { Json, Part, ResolutionOutcome } from '@postern/message'
import type { MessageRecord } from '@postern/pipeline'
import type { InboxItem, SendRequest, SendResult, SentPart } from '@postern/simulation'

/** A message: its number, its id in the protocol, or a result that contains the number. */
export type NamedMessage = number | string | { readonly number?: number | undefined }

/** The answer of an agent to a message. */
export interface AnswerRecord {
  /** The number of the message in the store. Absent if the gateway refused the message. */
  readonly number?: number | undefined
  /** The parts of the answer as the agent returned them. Files that the gateway stores include their bytes (`bytes_ref.data_base64`). */
  readonly parts: readonly Part[]
}

/** A requirement: its id, or a result whose answer asks for it. */
export type NamedRequirement = string | Exclude<NamedMessage, string | number>

/** One run of the chat, as a browser starts it. */
export interface ChatRequest {
  /** The text of the message. Default: the texts in `parts`. */
  readonly text?: string | undefined
  /** Texts and files in addition to `text`. */
  readonly parts?: readonly SentPart[] | undefined
  /** The name of the agent. Default: the default agent. */
  readonly to?: string | undefined
  /** The subject of the writer's token, such as `alice`. Default: the operator. */
  readonly from?: string | undefined
  /** The conversation. Default: a new one. */
  readonly thread?: string | undefined
}

/** An AG-UI event. */
export interface ChatEvent {
  readonly type: string
  readonly [member: string]: unknown
}

/**
 * A message from a peer of the simulated network: an account of a fediverse server, another agent or a mailbox. A `fault` makes it forged,
 * expired or otherwise wrong; `npx postern send --list` names all faults.
 */
export type PeerMessage = Omit<SendRequest, 'signal' | 'onStored' | 'text'> & {
  /** The text of the message. Default: the texts in `parts`. */
  readonly text?: string | undefined
}

export interface PeerReply extends SendResult, AnswerRecord {}

export interface ChatResult extends AnswerRecord {
  readonly thread: string
  /** The text that the chat showed. */
  readonly text: string
  /** Every event of the run, in order. */
  readonly events: readonly ChatEvent[]
}

export interface StartedGateway {
  /** The address of the gateway, such as `http://127.0.0.1:40001`. */
  readonly url: string
  /** The bearer token of the operator API, which also opens the chat. */
  readonly token: string
  /**
   * Sends a message with a real signature, and waits for the answer.
   *
   * @example
   * const { reply } = await gateway.send({ via: 'email', to: 'desk', text: 'hello' })
   * expect(reply?.text).toContain('hello')
   *
   * const note = { kind: 'file', name: 'note.txt', mime: 'text/plain', bytes: Buffer.from('buy milk') } as const
   * const { parts } = await gateway.send({ via: 'a2a', to: 'desk', text: 'What is in the note?', parts: [note] })
   * expect(parts).toMatchObject([{ kind: 'text', content: 'Buy milk.' }])
   */
  send(request: PeerMessage): Promise<PeerReply>
  /**
   * Sends a message in the chat, and waits for the end of the run.
   *
   * @example
   * const { text, thread } = await gateway.chat({ to: 'desk', text: 'hello' })
   * const next = await gateway.chat({ to: 'desk', text: 'and now?', thread })
   */
  chat(request: ChatRequest): Promise<ChatResult>
  /**
   * Returns everything that the gateway knows about a message, like `postern show`. It first waits for the end of the turn and its
   * deliveries, five seconds at most.
   * @throws Error if there is no such message
   *
   * @example
   * const sent = await gateway.send({ via: 'email', to: 'desk', text: 'hello' })
   * const { state, message, deliveries } = await gateway.record(sent)
   */
  record(message: NamedMessage): Promise<MessageRecord>
  /**
   * Lists everything that reached an account of the fediverse or a mailbox, in order: answers, and messages that agents send unasked.
   * @throws Error for a persona without an inbox
   *
   * @example
   * await gateway.follow('alice@mastodon.test', 'desk')
   * await vi.waitFor(async () => {
   *   const inbox = await gateway.inbox('alice@mastodon.test')
   *   expect(inbox.at(-1)).toMatchObject({ type: 'Create', text: 'Good morning.' })
   * })
   */
  inbox(persona: string): Promise<readonly InboxItem[]>
  /** Makes an account of the fediverse follow an agent, and waits until the agent accepts. @throws Error if it does not */
  follow(persona: string, agent: string): Promise<void>
  /**
   * Decides an agent's requirement: an approval, a payment or a proof as the operator, a consent as the person in question. `requirement`
   * is its id, or the result whose answer asks for it. `args` replace the arguments of a tool call. Waits for the turn that reports the
   * decision to the agent, and returns its answer.
   * @throws Error if there is no such requirement, or it cannot be decided
   *
   * @example
   * const asked = await gateway.send({ via: 'email', to: 'desk', text: 'Refund order 7' })
   * const { parts } = await gateway.decide(asked, 'granted')
   * expect(parts).toMatchObject([{ kind: 'text', content: 'Refunded.' }])
   */
  decide(requirement: NamedRequirement, outcome: ResolutionOutcome, args?: Json): Promise<AnswerRecord>
  /** The clock of the gateway and of all peers in the simulated network. */
  readonly clock: {
    /** Returns the time in ms since the epoch. */
    now(): number
    /**
     * Moves the clock forward, and everything that becomes due happens at once. The clock of your agents' own code does not move. Do not
     * call it while a turn runs.
     *
     * @example
     * gateway.clock.advance(48 * 3_600_000)
     */
    advance(ms: number): void
  }
  /**
   * Stops the gateway and starts it again at the same address, with its data and in the same simulated network. It reads the configuration
   * again, and loads the agents and their imports anew.
   * @throws ConfigError, AggregateError of them, if the configuration or an agent has a fault
   *
   * @example
   * const { thread } = await gateway.chat({ to: 'desk', text: 'hello' })
   * await gateway.restart()
   * const { text } = await gateway.chat({ to: 'desk', text: 'still there?', thread })
   */
  restart(): Promise<void>
  /**
   * Stops the gateway and deletes its data.
   *
   * @example
   * afterAll(() => gateway.stop())
   */
  stop(): Promise<void>
}
