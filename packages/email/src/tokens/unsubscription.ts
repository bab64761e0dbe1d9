// Formats and reads the tokens of the links with which a person unsubscribes from unasked mail of an agent (RFC 8058).
import type { AddressMac } from './address-mac.ts'

/** A mailbox that wants no more unasked mail of an agent. */
export interface Unsubscription {
  readonly agent: string
  readonly mailbox: string
}

const unsubscriptionPattern = /^([\w-]{1,700})\.([0-9a-f]{40})$/

/**
 * Returns a token that names a mailbox to this gateway alone. Anyone who has the mail can use the token, but nobody can
 * create a token for another mailbox. A token does not expire (RFC 8058 §3.1).
 */
export function formatUnsubscription(mac: AddressMac, { agent, mailbox }: Unsubscription): string {
  return `${Buffer.from(mailbox).toString('base64url')}.${mac.sign({ purpose: 'unsubscribe', agent, data: mailbox }, 40)}`
}

/** Reads an unsubscription token. It returns undefined if this gateway did not write it. */
export function readUnsubscription(mac: AddressMac, agent: string, text: string): Unsubscription | undefined {
  const [, data = '', signature = ''] = unsubscriptionPattern.exec(text) ?? []
  const mailbox = Buffer.from(data, 'base64url').toString()
  return data && mac.isSigned(signature, { purpose: 'unsubscribe', agent, data: mailbox })
    ? { agent, mailbox }
    : undefined
}
