// Writes and reads the links by which a person ends unasked mail of an agent (RFC 8058).
import type { AddressMac } from './address-mac.ts'

/** A mailbox that wants no more unasked mail of an agent. */
export interface Unsubscription {
  readonly agent: string
  readonly mailbox: string
}

const unsubscriptionPattern = /^([\w-]{1,700})\.([0-9a-f]{40})$/

/**
 * Returns a token that names a mailbox to this gateway alone. Anyone with the mail can use the token, and nobody can
 * make one for another mailbox. It does not expire (RFC 8058 §3.1).
 */
export function formatUnsubscription(mac: AddressMac, { agent, mailbox }: Unsubscription): string {
  return `${Buffer.from(mailbox).toString('base64url')}.${mac.sign('unsubscribe', agent, mailbox, 40)}`
}

/** Reads such a token. It returns undefined if this gateway did not write it. */
export function readUnsubscription(mac: AddressMac, agent: string, text: string): Unsubscription | undefined {
  const [, data = '', signature = ''] = unsubscriptionPattern.exec(text) ?? []
  const mailbox = Buffer.from(data, 'base64url').toString()
  return data && mac.isSigned(signature, 'unsubscribe', agent, mailbox) ? { agent, mailbox } : undefined
}
