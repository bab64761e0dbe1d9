import type { NormalizedMessage } from '../message/message.ts'
import type { Intake } from '../ports/records/intake.ts'
import { speakingKinds } from '../ports/records/intake.ts'

/** What a person can ask of the gateway itself, about themselves. */
export type PersonCommand =
  | { readonly name: 'link' | 'unlink'; readonly address: string }
  | { readonly name: 'confirm'; readonly code: string; readonly isBare: boolean }
  | { readonly name: 'linked' | 'forget' }

interface CommandRow {
  readonly pattern: RegExp
  read(word: string): PersonCommand | undefined
}

const toCode = (text: string, isBare: boolean): PersonCommand | undefined => {
  const code = readCode(text)
  return code === undefined ? undefined : { name: 'confirm', code, isBare }
}

/** The whole text of a message, white space and capitals aside. A code alone counts only while one is awaited. */
const commands: readonly CommandRow[] = [
  { pattern: /^(?:confirm|link|code) ([a-z0-9]{5}[ -]?[a-z0-9]{5})$/i, read: text => toCode(text, false) },
  { pattern: /^([a-z0-9]{5}-[a-z0-9]{5})$/i, read: text => toCode(text, true) },
  { pattern: /^link (\S{0,256}@\S{1,256})$/i, read: address => ({ name: 'link', address }) },
  { pattern: /^unlink (\S{0,256}@\S{1,256})$/i, read: address => ({ name: 'unlink', address }) },
  { pattern: /^(linked)$/i, read: () => ({ name: 'linked' }) },
  { pattern: /^(forget me)$/i, read: () => ({ name: 'forget' }) },
]

const longest = 700

/** Undefined for everything that is not, as a whole, one of the commands: it is for the agent. */
export function readPersonCommand({
  parts,
  kind = 'message',
}: Pick<NormalizedMessage, 'parts' | 'kind'>): PersonCommand | undefined {
  const texts = parts.filter(part => part.kind === 'text')
  const [only] = texts
  const hasFiles = parts.some(part => part.kind === 'file')
  if (kind !== 'message' || !only || texts.length > 1 || hasFiles || only.content.length > longest) return undefined
  const text = only.content.split(/^-- $/m, 1).join('').replace(/\s+/g, ' ').trim().replace(/[.!]$/, '')
  for (const { pattern, read } of commands) {
    const word = pattern.exec(text)?.[1]
    if (word !== undefined) return read(word)
  }
  return undefined
}

/** No letters or digits that are taken for each other; five bits each. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'
/** 50 bits. */
export const codeLength = 10
const half = codeLength / 2

/** A code as people read it, `XXXXX-XXXXX`, of ten random bytes. */
export function formatCode(bytes: Uint8Array): string {
  if (bytes.length < codeLength) throw new Error(`a code takes ${codeLength} bytes`)
  const letters = Array.from(bytes.subarray(0, codeLength), byte => alphabet[byte & 31]).join('')
  return `${letters.slice(0, half)}-${letters.slice(half)}`
}

/** A code in its one form, however it was typed; undefined for what is none. */
export function readCode(text: string): string | undefined {
  const letters = text.toUpperCase().replace(/[\s-]/g, '')
  const isCode = letters.length === codeLength && [...letters].every(letter => alphabet.includes(letter))
  return isCode ? `${letters.slice(0, half)}-${letters.slice(half)}` : undefined
}

/**
 * Who speaks, with what authority and before whom, as one text: messages that differ in it are never put together, and do not end each
 * other's turns. Undefined for what stands alone: events, decisions (`policy_resolution`), what asks something of the gateway itself, and words
 * nobody has proven to be theirs. An edit speaks as what it changes.
 */
export function identifySpeaker({ message, authorship, audience }: Intake): string | undefined {
  const { sender, kind = 'message', policy_resolution, recipient, recipient_capabilities } = message
  if (!speakingKinds.has(kind) || policy_resolution || !sender.verified || readPersonCommand(message)) return undefined
  const rights = (sender.identities ?? []).map(
    ({ subject, issuer, method, assurance, audience, on_behalf_of, claims }) =>
      JSON.stringify([subject, issuer, method, assurance, audience, on_behalf_of, claims]),
  )
  const who = [sender.address, sender.auth_method, authorship?.author, rights.sort()]
  return JSON.stringify([...who, audience, recipient, recipient_capabilities])
}
