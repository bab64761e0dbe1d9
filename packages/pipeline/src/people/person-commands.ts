// Parses the commands by which people link addresses or ask to be forgotten.

import type { NormalizedMessage } from '@postern/message'
import { readCode } from './link-code.ts'

/** A request that a person makes to the gateway itself, about their own addresses or data. */
export type PersonCommand =
  | { readonly name: 'link' | 'unlink'; readonly address: string }
  | { readonly name: 'confirm'; readonly code: string; readonly isBare: boolean }
  | { readonly name: 'linked' | 'forget' }

interface CommandRow {
  readonly pattern: RegExp
  read(argument: string): PersonCommand | undefined
}

const toConfirmCommand = (text: string, isBare: boolean): PersonCommand | undefined => {
  const code = readCode(text)
  return code === undefined ? undefined : { name: 'confirm', code, isBare }
}

/** The commands. A command must be the whole text of a message; white space and case do not matter. A bare code counts only while a code is open. */
const commands: readonly CommandRow[] = [
  { pattern: /^(?:confirm|link|code) ([a-z0-9]{5}[ -]?[a-z0-9]{5})$/i, read: text => toConfirmCommand(text, false) },
  { pattern: /^([a-z0-9]{5}-[a-z0-9]{5})$/i, read: text => toConfirmCommand(text, true) },
  { pattern: /^link (\S{0,256}@\S{1,256})$/i, read: address => ({ name: 'link', address }) },
  { pattern: /^unlink (\S{0,256}@\S{1,256})$/i, read: address => ({ name: 'unlink', address }) },
  { pattern: /^(linked)$/i, read: () => ({ name: 'linked' }) },
  { pattern: /^(forget me)$/i, read: () => ({ name: 'forget' }) },
]

const maxCommandChars = 700

/** Parses a message that is one of the commands and nothing else. Returns undefined for every other message, which is for the agent. */
export function readPersonCommand({
  parts,
  kind = 'message',
}: Pick<NormalizedMessage, 'parts' | 'kind'>): PersonCommand | undefined {
  const texts = parts.filter(part => part.kind === 'text')
  const [textPart] = texts
  const hasFiles = parts.some(part => part.kind === 'file')
  if (kind !== 'message' || !textPart || texts.length > 1 || hasFiles || textPart.content.length > maxCommandChars)
    return undefined
  const text = textPart.content.split(/^-- $/m, 1).join('').replace(/\s+/g, ' ').trim().replace(/[.!]$/, '')
  for (const { pattern, read } of commands) {
    const argument = pattern.exec(text)?.[1]
    if (argument !== undefined) return read(argument)
  }
  return undefined
}
