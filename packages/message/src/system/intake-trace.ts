// Describes the checks that a message passed.

import type { Proof } from '../message/proof.ts'

/*
 * The record of a message, step by step. Times are in ms since 1970-01-01 UTC, durations in ms. It is for the operator alone, and nothing of it goes
 * to peers. It contains no secrets, and only public keys.
 */

/** The source of the key of a proof: a fetch from its host, our cache, DNS, the configuration, or the message itself. */
export type KeyOrigin = 'fetched' | 'cache' | 'dns' | 'config' | 'message'

/** A public key in the form in which it proved a message: PEM, the TXT record of DKIM, a JWK as JSON. It is stored once, under its digest. */
export interface ProofKey {
  /** The SHA-256 of `material`, in base64url. */
  readonly digest: string
  /** The form of the material. */
  readonly kind: 'pem' | 'jwk' | 'dkim' | 'multikey'
  readonly material: string
  /** The principal who owns the key, if it belongs to a person. The key is deleted with the person. */
  readonly owner?: string | undefined
}

/** One check of an arriving message. */
export interface VerifyStep {
  /**
   * The kind of check, as in a `Proof`: `http-signature`, `digest`, `jwt`, `dkim`, `spf`, …; `resolve`, `normalize` and `rules` are the gateway's
   * own.
   */
  readonly kind: string
  readonly verdict: Proof['verdict']
  readonly key_id?: string | undefined
  readonly key_from?: KeyOrigin | undefined
  /** The digest under which the key is stored. */
  readonly key_digest?: string | undefined
  /** The time of its beginning, in ms after `received_at`. */
  readonly after: number
  readonly ms: number
}

/** The record of one message from its arrival until it was durable. */
export interface IntakeTrace {
  readonly received_at: number
  /** The time at which its peer claims to have sent it. */
  readonly sent_at?: number | undefined
  readonly steps: readonly VerifyStep[]
  /** The `traceparent` that the caller claims (W3C Trace Context). It decides nothing here. */
  readonly caller?: string | undefined
  /** The time of its admission; absent only before it is stored. */
  readonly admitted_at?: number | undefined
}
