import type { Proof } from '../../message/proof.ts'
import type { TokenUsage } from '../../message/token-usage.ts'

/*
 * The record of a message: what happened to it, step by step. Instants are ms since 1970-01-01 UTC, durations are ms. For the operator alone:
 * nothing of it goes to peers. No secret is in it: of keys the public ones.
 */

/** Where the key of a proof came from: from its host just now, from our cache, from DNS, from the configuration, or with the message itself. */
export type KeyOrigin = 'fetched' | 'cache' | 'dns' | 'config' | 'message'

/** A public key as it was when it proved a message: PEM, the TXT record of DKIM, a JWK as JSON. Kept once, by its digest. */
export interface ProofKey {
  /** SHA-256 of `material`, base64url. */
  readonly digest: string
  /** The form of the material. */
  readonly kind: 'pem' | 'jwk' | 'dkim' | 'multikey'
  readonly material: string
  /** The principal whose key it is, where it is a person's: it goes with them. */
  readonly owner?: string | undefined
}

/** One check on the way in. */
export interface VerifyStep {
  /** As of a `Proof`: `http-signature`, `digest`, `jwt`, `dkim`, `spf`, …; `resolve`, `normalize` and `rules` are the gateway's own. */
  readonly kind: string
  readonly verdict: Proof['verdict']
  readonly key_id?: string | undefined
  readonly key_from?: KeyOrigin | undefined
  /** By which the key of then is found. */
  readonly key_digest?: string | undefined
  /** When it began, ms after `received_at`. */
  readonly after: number
  readonly ms: number
}

/** The way in of one message, until it was durable. */
export interface IntakeTrace {
  readonly received_at: number
  /** When its peer claims to have sent it. */
  readonly sent_at?: number | undefined
  readonly steps: readonly VerifyStep[]
  /** `traceparent` of the caller (W3C Trace Context), as the caller says; it decides nothing here. */
  readonly caller?: string | undefined
  /** Absent only before it is stored. */
  readonly admitted_at?: number | undefined
}

/** How one attempt at a turn ended. `lost`: its lease ran out, so that another worker took it up, or its process died. */
export type TurnOutcome =
  | 'answered'
  | 'silent'
  | 'failed'
  | 'unavailable'
  | 'timed_out'
  | 'canceled'
  | 'deleted'
  | 'interrupted'
  | 'edited'
  | 'shut_down'
  | 'lost'

/** What an agent was given, so that it can be built again (`rebuildGiven`). */
export interface GivenMessage {
  /** Entries of the thread that its history was made of: their seqs, oldest first. */
  readonly history: readonly number[]
  /** SHA-256 of the exact message, but for its raw bytes, as JSON; base64url. */
  readonly digest: string
}

/** What became of something that an agent was given. */
export interface EntryChange {
  readonly seq: number
  readonly how: 'edited' | 'retracted' | 'forgotten'
  /** Absent when nothing is left of it. */
  readonly at?: number | undefined
}

/** One call of a tool. */
export interface ToolRun {
  readonly name: string
  /** Absent when the agent told of the call only once it was over. */
  readonly ms?: number | undefined
  readonly ok: boolean
}

/** Why an agent failed. Bounded in length. */
export interface AgentFault {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  /** The first line of the stack that is the agent's own. */
  readonly file?: string | undefined
  readonly line?: number | undefined
}

/** One attempt at a turn. */
export interface TurnAttempt {
  /** 1 for the first. */
  readonly attempt: number
  readonly leased_at: number
  /** When the gateway called the agent; absent when it did not. */
  readonly called_at?: number | undefined
  /** When the first piece of its answer came. */
  readonly first_output_at?: number | undefined
  readonly ended_at: number
  readonly outcome: TurnOutcome
  readonly given?: GivenMessage | undefined
  readonly tools?: readonly ToolRun[] | undefined
  /** Of each model that was asked. */
  readonly usage?: readonly TokenUsage[] | undefined
  readonly error?: AgentFault | undefined
  /** Time of the next attempt. */
  readonly next_at?: number | undefined
}

/** The turn of a message. */
export interface TurnRecord {
  /** Oldest first; of very many the first and the last. */
  readonly attempts: readonly TurnAttempt[]
  /** When it may be taken up; absent while it waits behind another one, and once it has ended. */
  readonly due_at?: number | undefined
  /** Somebody works on it now. */
  readonly is_leased: boolean
  /** When its answer was committed, or it ended without one. */
  readonly ended_at?: number | undefined
}

/** One attempt at a delivery. */
export interface DeliveryAttempt {
  /** 1 for the first. */
  readonly attempt: number
  readonly at: number
  readonly ms: number
  readonly outcome: 'sent' | 'later' | 'dead'
  /** Of HTTP, or the reply code of SMTP; absent when no answer came. */
  readonly status?: number | undefined
  /** The first line of the far side's answer. */
  readonly reply_line?: string | undefined
  /** Why the gateway did not send it. */
  readonly error?: string | undefined
  /** When the next one is due. */
  readonly next_at?: number | undefined
}

/** How the far side answered an attempt to deliver. */
export type DeliveryReply = Pick<DeliveryAttempt, 'status' | 'reply_line'>
