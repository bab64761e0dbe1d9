// Types of a gateway for tests. They are published, so they name none of the gateway's own modules.
import type { Json, Part, ResolutionOutcome } from '@postern/message'
import type { MessageRecord } from '@postern/pipeline'
import type { InboxItem, SendRequest, SendResult, SentPart } from '@postern/simulation'

/** A message: its number, its id on the wire, or a result that has the number. */
export type NamedMessage = number | string | { readonly number?: number | undefined }

/** The answer of an agent to a message. */
export interface AnswerRecord {
  /** Number of the message in the store; absent where the gateway did not take it. */
  readonly number?: number | undefined
  /** The parts of the answer as the agent gave them. Files that the gateway keeps have their bytes (`bytes_ref.data_base64`). */
  readonly parts: readonly Part[]
}

/** A requirement: its id, or a result whose answer asks for it. */
export type NamedRequirement = string | Exclude<NamedMessage, string | number>

/** One run of the chat, as a browser starts it. */
export interface ChatRequest {
  /** The words of the message; default: those in `parts`. */
  readonly text?: string | undefined
  /** Texts and files beside `text`. */
  readonly parts?: readonly SentPart[] | undefined
  /** Name of the agent; default: the default agent. */
  readonly to?: string | undefined
  /** Subject of the token of who writes, such as `alice`; default: the operator writes. */
  readonly from?: string | undefined
  /** Conversation; default: a new one. */
  readonly thread?: string | undefined
}

/** An AG-UI event. */
export interface ChatEvent {
  readonly type: string
  readonly [member: string]: unknown
}

/**
 * A message from a peer of the simulated network: a person of a fediverse server, another agent, a mailbox. With a `fault` it is forged, expired or
 * the like; `npx postern send --list` names them all.
 */
export type PeerMessage = Omit<SendRequest, 'signal' | 'onStored' | 'text'> & {
  /** The words of the message; default: those in `parts`. */
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
  /** Bearer token of the operator's API, which also opens the chat. */
  readonly token: string
  /**
   * Sends a message that is really signed, and waits for the answer.
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
   * Says something in the chat, and waits for the end of the run.
   *
   * @example
   * const { text, thread } = await gateway.chat({ to: 'desk', text: 'hello' })
   * const next = await gateway.chat({ to: 'desk', text: 'and now?', thread })
   */
  chat(request: ChatRequest): Promise<ChatResult>
  /**
   * Everything that the gateway knows about a message, as `postern show` prints it. Waits five seconds at most for the end of its turn and its
   * deliveries. @throws Error when there is no such message
   *
   * @example
   * const sent = await gateway.send({ via: 'email', to: 'desk', text: 'hello' })
   * const { state, message, deliveries } = await gateway.record(sent)
   */
  record(message: NamedMessage): Promise<MessageRecord>
  /**
   * Everything that reached a person of the fediverse or a mailbox, in order: answers, and what agents write unasked.
   * @throws Error for somebody who has no inbox
   *
   * @example
   * await gateway.follow('alice@mastodon.test', 'desk')
   * await vi.waitFor(async () => {
   *   const inbox = await gateway.inbox('alice@mastodon.test')
   *   expect(inbox.at(-1)).toMatchObject({ type: 'Create', text: 'Good morning.' })
   * })
   */
  inbox(persona: string): Promise<readonly InboxItem[]>
  /** Lets a person of the fediverse follow an agent. Resolves when the agent has accepted. @throws Error when it does not */
  follow(persona: string, agent: string): Promise<void>
  /**
   * Decides what an agent has asked for: an approval, a payment or a proof as the operator, a consent as the person who is asked.
   * `requirement`: its id, or the result whose answer asks. `args`: what a call of a tool runs with instead.
   * Waits for the turn in which the agent hears of it, and gives its answer.
   * @throws Error when there is no such requirement, or it cannot be decided
   *
   * @example
   * const asked = await gateway.send({ via: 'email', to: 'desk', text: 'Refund order 7' })
   * const { parts } = await gateway.decide(asked, 'granted')
   * expect(parts).toMatchObject([{ kind: 'text', content: 'Refunded.' }])
   */
  decide(requirement: NamedRequirement, outcome: ResolutionOutcome, args?: Json): Promise<AnswerRecord>
  /** The time of the gateway and of everybody in the simulated network. */
  readonly clock: {
    /** ms since 1970. */
    now(): number
    /**
     * Moves the time on: what falls due by then happens at once. The time of your agents' own code stays. Advance while no turn runs.
     *
     * @example
     * gateway.clock.advance(48 * 3_600_000)
     */
    advance(ms: number): void
  }
  /**
   * Stops the gateway and starts it again: at the same address, with its data, in the same simulated network. It reads the configuration anew,
   * and loads the agents and what they import anew.
   * @throws ConfigError, AggregateError of them, when the configuration or an agent has a fault
   *
   * @example
   * const { thread } = await gateway.chat({ to: 'desk', text: 'hello' })
   * await gateway.restart()
   * const { text } = await gateway.chat({ to: 'desk', text: 'still there?', thread })
   */
  restart(): Promise<void>
  /**
   * Ends the gateway and deletes what it has stored.
   *
   * @example
   * afterAll(() => gateway.stop())
   */
  stop(): Promise<void>
}
