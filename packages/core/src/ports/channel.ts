import { hash } from 'node:crypto'
import type { Json } from '../format/notations.ts'
import type { ChannelName } from '../message/message.ts'
import type { OutgoingAction, PostAction } from '../message/outgoing-action.ts'
import type { Proof } from '../message/proof.ts'
import type { NormalizedResponse, ShowRequirement } from '../message/response.ts'
import { hasRequirements, hideRequirements } from '../message/response.ts'
import type { AgentDirectory, AgentProfile } from './agent/agent.ts'
import type { CallAgent } from './agent/agent-call.ts'
import type { IdentityVerifier } from './agent/evidence.ts'
import type { ChannelDescriptor } from './channel-descriptor.ts'
import type { AdmissionDeps } from './intake-store.ts'
import type { ByteBudget, GuardedFetch, Platform } from './platform/platform.ts'
import type { Intake } from './records/intake.ts'
import type { PlannedBroadcast, PlannedDelivery } from './records/planned-delivery.ts'
import type { RefusalClaims } from './records/records.ts'
import type { Relation, Withdrawal } from './records/relation.ts'
import type { BackgroundEntry } from './records/transcript.ts'
import type { Delivery, Turn } from './records/work.ts'
import type { RequirementClaims, RequirementDecisions } from './requirement-store.ts'
import type { Store } from './store.ts'
import type { DeliveryReply, IntakeTrace, KeyOrigin, ProofKey, VerifyStep } from './trace/trace.ts'

/** Wire → message. `Proven` carries a brand that only `verify` can put on. */
export interface Inbound<Raw, Proven> {
  readonly name: ChannelName
  /** Who is speaking and how we know; each check is noted in `steps`. @throws Rejection, Unavailable */
  verify(raw: Raw, steps: IntakeSteps): Promise<Proven>
  /** One intake per local agent addressed; none for "well-formed, nothing to do". Pure. */
  normalize(proven: Proven): readonly Intake[]
  /** What its author takes back by it, whether anybody here was told before or not. Pure. */
  withdrawals?(proven: Proven): readonly Withdrawal[]
}

/** A turn and what its agent said, before it is durable. */
export interface AnsweredTurn {
  readonly turn: Turn
  readonly response: NormalizedResponse
}

/** Where an answer goes, and the ids it will be known by there. */
export interface Addressing {
  readonly deliveries: readonly PlannedDelivery[]
  readonly aliases: readonly string[]
  /** Who may join the thread that a post of the agent's own begins; default: everybody where it is listed, else nobody. */
  readonly scope?: string | undefined
  /** Whether everybody may read it. */
  readonly isListed?: boolean | undefined
  /** What rendering it takes beside the message's own target: kept with the answer. Channel's own business. */
  readonly rendering?: Json | undefined
  /** To all who stand in a relation to the agent. */
  readonly broadcasts?: readonly PlannedBroadcast[] | undefined
}

/** A delivery rendered and ready to go. `wire` is what the operator is shown, without signatures or secrets. */
export interface Prepared {
  readonly wire: Json
  /** @throws Unavailable, Undeliverable */
  transmit(): Promise<Transmitted>
}

/** The far side has taken it, and said so. */
export interface Transmitted extends DeliveryReply {
  /** For the operator, beside the delivery. */
  readonly note?: string | undefined
}

/** Message → wire. */
interface Outbound<Wire> {
  readonly descriptor: ChannelDescriptor
  /** Which deliveries an answer causes. Pure. */
  address(answered: AnsweredTurn): Addressing
  /** Pure. */
  render(delivery: Delivery): Wire
  /** What the operator sees of a wire document. Pure. */
  describe(wire: Wire): Json
  /** Sign, transmit, classify the answer. @throws Unavailable, Undeliverable */
  deliver(wire: Wire, delivery: Delivery): Promise<Transmitted>
}

/** A link a channel adds to an agent's WebFinger answer. */
export interface WebLink {
  readonly rel: string
  readonly type?: string | undefined
  readonly href: string
}

/** What an agent's page shows of it beside its profile. HTML is safe to show as it is. */
export interface PublicProfile {
  /** The description as HTML, its addresses as links. */
  readonly bio: string
  readonly followers: number
  /** Who may follow: everybody, whom the operator lets, nobody. */
  readonly follows: 'open' | 'manual' | 'closed'
  /** Recent public posts as HTML, newest first. */
  readonly posts: readonly string[]
  /** Address of an Atom feed of them. */
  readonly feed?: string | undefined
}

/** A public key or DNS record to publish (`postern keys`). */
export interface PublishedKey {
  readonly purpose: string
  readonly id: string
  readonly algorithm: string
  /** PEM, JWK or other text form. */
  readonly publicKey: string
  readonly dns?: { readonly name: string; readonly type: 'TXT'; readonly value: string } | undefined
  /** ISO 8601 UTC; absent for what is no key of ours. */
  readonly madeAt?: string | undefined
}

/** How an endpoint of ours treated a call of a peer. */
export interface RehearsedCall {
  /** It did what it has to do. */
  readonly isRight: boolean
  /** Its answer, or why there is none: half a sentence. */
  readonly answer: string
}

/** What an endpoint of ours makes of a call that means nothing to anybody. */
export interface Rehearsal {
  readonly endpoint: string
  /** With a proof that holds: it is taken. */
  readonly proven: RehearsedCall
  /** The same with a proof that does not hold: it is refused. */
  readonly forged: RehearsedCall
}

export interface RotateOptions {
  /** Takes every older key back at once: somebody else may have it. */
  readonly isRevoking?: boolean | undefined
}

/** A socket a channel holds open itself (SMTP, LMTP). */
export interface Listening {
  readonly description: string
  /** One word for the terminal: `mail`. */
  readonly label?: string | undefined
  readonly port: number
  /** Takes no new connection, and lets the open ones go on; its address is free at once. Resolves with the end of the last one. */
  release?(): Promise<void>
  close(): Promise<void>
}

/** Clock, look-ups and store of the time of a stored message, in place of the channel's own. */
export type ReplayMoment = Pick<ChannelContext, 'platform' | 'store'>

/** A stored message, as its channel reads it again. */
interface ArrivedMessage {
  readonly agent: string
  /** As its intake had it. */
  readonly arrival: Json
  readonly raw: Uint8Array
  /** As its intake had it: the ids that the channel gave then. */
  readonly target: Json
}

/** A protocol with its wire types closed over: what the program sees. `Routes` is the web framework's router. */
export interface Channel<Routes = unknown> {
  readonly descriptor: ChannelDescriptor
  readonly routes: Routes
  address(answered: AnsweredTurn): Addressing
  /** Renders now; delivers when told to. */
  prepare(delivery: Delivery): Prepared
  /**
   * The documents that an answer would be here, had its message come by this channel, in the form that operators see. `turn.target` is of another
   * channel. Nothing is sent or looked up. A channel without it shows none.
   */
  preview?(answered: AnsweredTurn): readonly Json[]
  /** Clients read what `preview` shows: what deliveries hold is written only then. */
  readonly isReadAsPreview?: true
  /** Which deliveries a deed causes; undefined when this channel has no way to do it. A channel without it has none for any. */
  addressAction?(action: OutgoingAction): Addressing | undefined
  /** A message of the agent's own to those it mentions, on a channel that has no posts; undefined when it may be sent to none of them. Pure. */
  addressDirectMessage?(post: PostAction): Addressing | undefined
  /** The deliveries of a broadcast to these peers; one place may stand for several. Pure. */
  expand?(broadcast: PlannedBroadcast, relations: readonly Relation[]): readonly PlannedDelivery[]
  /** Files reach peers by address, not inside of messages: bytes in answers are stored and addressed. */
  readonly addressesFiles?: true
  /**
   * What was said before a message that begins in the middle of a conversation, oldest first. Bounded in number and time; what cannot be had is
   * left out.
   */
  fetchBackground?(turn: Turn, signal: AbortSignal): Promise<readonly BackgroundEntry[]>
  /**
   * A message of the gateway's own to one address (`mentions`) that may never have written here; default: as any post. Agents do not speak this
   * way.
   */
  addressNotice?(action: PostAction): Addressing | undefined
  /** A chat by its owner and key, also when nobody has read its history yet. */
  findThread?(owner: string, key: string): Promise<{ readonly owner: string; readonly thread_id: string } | undefined>
  /** The scope of conversations between an agent and this principal alone. Pure. */
  privateScope?(subject: string): string | undefined
  /**
   * The target of an answer to what its author says elsewhere (in a chat), in the conversation that `target` is of: to the author alone; undefined when
   * nothing may be sent. A channel without it has conversations that go on nowhere else. Pure.
   */
  retarget?(target: Json): Json | undefined
  /** The principal behind an address, when both say so; undefined: nobody. @throws Unavailable, Undeliverable, Rejection */
  findPrincipal?(address: string): Promise<string | undefined>
  /** Peers elsewhere may send by it, as it is configured: agent cards and directories name it. */
  readonly isAnnounced?: true | undefined
  /** Members that it adds to an agent's card (Mentionable, agent card). */
  describeAgent?(
    agent: AgentProfile,
    more: { readonly extensions: readonly object[] },
  ): Readonly<Record<string, object>>
  /** Members that it adds to an agent's entry in the directory (schema.org ContactPoint). */
  describeContact?(agent: string): Readonly<Record<string, string>>
  /** How people reach an agent by it: HTML for its page, safe to show as it is. */
  renderInvitation?(agent: string): string
  /** Whether there was an agent of this name, which is no more. */
  isFormerAgent?(name: string): Promise<boolean>
  /** Calls an agent elsewhere for one of ours. */
  readonly callAgent?: CallAgent | undefined
  /** First segments of its paths that agents of this gateway may call within it: `inbox`. */
  readonly openPaths?: readonly string[] | undefined
  /** Paths whose requests make it work, whatever their method: they are counted like a POST. */
  readonly operationPaths?: RegExp | undefined
  /** What people open to use it: a path, and the word before it on the terminal. */
  readonly entrance?: { readonly label: string; readonly path: string } | undefined
  links(agent: string): readonly WebLink[]
  /** Of the gateway's own account, where it has one (`acct:HOST@HOST`). */
  readonly gatewayLinks?: readonly WebLink[] | undefined
  /** Absent where agents have no public life. @throws Rejection `no_recipient` */
  readProfile?(agent: string): Promise<PublicProfile>
  publishedKeys(): Promise<readonly PublishedKey[]>
  /**
   * Makes new keys for one agent, or for all; gives those that sign from now on. The old ones stay valid for a while, unless
   * they are revoked. @throws Rejection `no_recipient`
   */
  rotateKeys?(agent?: string, options?: RotateOptions): Promise<readonly PublishedKey[]>
  /** Accepts or refuses somebody who asks to follow an agent; false when nobody of this name asks (any more). */
  decideFollow?(agent: string, peer: string, isAccepted: boolean): Promise<boolean>
  /** Sends a message to one of our own agents the way all of them go, to see whether it comes back; its id. @throws Unavailable, Undeliverable */
  probe?(): Promise<string>
  /**
   * Calls an agent of ours by its public address as a peer does, once proven and once forged, with what reaches nobody and changes nothing.
   * `fetch`: the way in from outside.
   */
  rehearse?(agent: string, fetch: GuardedFetch): Promise<Rehearsal>
  /** Sends again where nothing was sent any more (`suppressed`); false when it was not so. */
  liftSuppression?(agent: string, peer: string): Promise<boolean>
  /** `former`: where it listened before its configuration changed; a port that was picked freely is kept. */
  listen?(former?: Pick<Listening, 'port'>): Promise<Listening>
  /**
   * verify → resolve → normalize of a stored message, which stores nothing: what it would be for its agent now. Undefined: nothing. Remembers
   * nothing of earlier messages. @throws Rejection, Unavailable
   */
  replay?(arrived: ArrivedMessage, moment: ReplayMoment): Promise<Intake | undefined>
  /** Shutdown begins: answer peers that wait with what there is now. */
  release?(): void
  close?(): Promise<void>
}

/** The channel of a name; undefined where it is not in the list (any more). */
export function findChannel<One extends Pick<Channel, 'descriptor'>>(
  channels: readonly One[],
  name: ChannelName,
): One | undefined {
  return channels.find(({ descriptor }) => descriptor.name === name)
}

/** What every channel is opened with. */
export interface ChannelContext {
  /** All that are open, this one too; filled while they are opened. */
  readonly channels: readonly Channel[]
  readonly platform: Platform
  /** Messages go into it by `admission`, decisions by `decisions`. */
  readonly store: Omit<Store, 'admit' | keyof RequirementDecisions>
  readonly admission: AdmissionDeps
  readonly decisions: RequirementDecisions
  readonly agents: AgentDirectory
  /** What peers bring that comes by another way than the HTTP server, which counts by itself. Absent: not bounded. */
  readonly bodies?: ByteBudget | undefined
  /** The signed, expiring address of stored bytes. */
  readonly fileAddress?: ((digest: string) => string) | undefined
  /** Ceiling for chains of agents; default: `defaultMaxHops`. */
  readonly maxHops?: number | undefined
  /** How many people and agents one answer may call; default: `defaultMaxMentions`. */
  readonly maxMentions?: number | undefined
  /** A requirement as its addressee sees it; absent where nothing can be decided. */
  readonly showRequirement?: ShowRequirement | undefined
  /** Decisions that callers bring themselves; absent where none are taken. */
  readonly requirementClaims?: RequirementClaims | undefined
  /** Absent where nothing that others say about a sender counts. */
  readonly identity?: IdentityVerifier | undefined
}

/** Whoever writes to us decides how many signatures there are to check. */
const maxSteps = 24
const maxKeyId = 512
/** W3C Trace Context §3.2.2, version 00. */
const traceparentForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** How a check came out: a `Proof`, or as much of one as there is. */
export type CheckedProof = Pick<Proof, 'kind' | 'verdict' | 'key_id'>

/** With what key it was made. */
export interface UsedKey {
  readonly from: KeyOrigin
  /** The public key; absent for a secret one. */
  readonly key?: ProofKey | undefined
}

/** Notes the checks of one request or mail while they are made: what each took, and the keys it needed. */
export interface IntakeSteps {
  /** ms since it came in, finer than whole ones. */
  now(): number
  /** A check that began at `since` (of `now()`) is over, now or since `until`. */
  note(checked: CheckedProof, since: number, used?: UsedKey, until?: number): void
  /** What it says of itself, as far as it is read: for the list of what was refused. Nothing of it is proven. */
  claim(claims: RefusalClaims): void
  claims(): RefusalClaims
  /** The trace that the caller says this belongs to; what is no `traceparent` is none. */
  calledFrom(traceparent: string | undefined): void
  /** What the record keeps of it. */
  trace(): Pick<IntakeTrace, 'received_at' | 'steps' | 'caller'>
  keys(): readonly ProofKey[]
}

/** To be called when the first bytes are there. The clock of the platform tells when that was, the clock of the process how long things take. */
export function createIntakeSteps(platform: Pick<Platform, 'now'>): IntakeSteps {
  const receivedAt = platform.now()
  const begunAt = performance.now()
  const steps: VerifyStep[] = []
  const keys = new Map<string, ProofKey>()
  let claimed: RefusalClaims = {}
  let caller: string | undefined
  const now = () => performance.now() - begunAt
  return {
    now,
    note({ kind, verdict, key_id }, since, used, until = now()) {
      if (steps.length >= maxSteps) return
      if (used?.key) keys.set(used.key.digest, used.key)
      steps.push({
        kind,
        verdict,
        key_id: key_id?.slice(0, maxKeyId).toWellFormed(),
        key_from: used?.from,
        key_digest: used?.key?.digest,
        after: roundMs(since),
        ms: roundMs(until - since),
      })
    },
    claim(claims) {
      claimed = { ...claimed, ...claims }
    },
    claims: () => claimed,
    calledFrom(traceparent) {
      if (traceparent !== undefined && traceparentForm.test(traceparent)) caller = traceparent
    },
    trace: () => ({ received_at: receivedAt, steps, ...(caller !== undefined && { caller }) }),
    keys: () => [...keys.values()],
  }
}

/** To a tenth: most checks take less than one. */
function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** A public key as the record keeps it. */
export function toProofKey(kind: ProofKey['kind'], material: string, owner?: string): ProofKey {
  return { digest: hash('sha256', material, 'base64url'), kind, material, ...(owner !== undefined && { owner }) }
}

/** Closes over a protocol's wire type, so that differing protocols fit one list. */
export function createSender<Wire>(outbound: Outbound<Wire>): Pick<Channel, 'descriptor' | 'address' | 'prepare'> {
  return {
    descriptor: outbound.descriptor,
    address: answered => outbound.address(answered),
    prepare(delivery) {
      const wire = outbound.render(delivery)
      const described = outbound.describe(wire)
      const shown = hasRequirements(delivery.response?.parts ?? []) ? hideRequirements(described) : described
      return { wire: shown, transmit: () => outbound.deliver(wire, delivery) }
    },
  }
}
