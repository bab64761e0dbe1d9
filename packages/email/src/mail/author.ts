// Reads the one author of a message from its From field.

import { Rejection } from '@postern/message'
import type { AddressReader } from './address-list.ts'
import type { Mailbox } from './mailbox.ts'

/** The longest From field in characters. It leaves room for a long encoded name. */
const maxFromChars = 4096

/**
 * Returns the one author of a message: exactly one `From` field with exactly one mailbox. RFC 9989 §5.3.1 has no
 * verdict for other messages.
 * @throws Rejection `malformed`
 */
export function readAuthor(fromFields: readonly string[], readAddresses: AddressReader): Mailbox {
  if (fromFields.length > 1) throw new Rejection('malformed', 'Cannot read mail: more than one From')
  const value = fromFields[0]
  if (!value) throw new Rejection('malformed', 'Cannot read mail: no From')
  if (value.length > maxFromChars) throw new Rejection('malformed', 'Cannot read mail: From is too long')
  const { mailboxes, isDoubtful } = readAddresses(value)
  if (mailboxes.length > 1) throw new Rejection('malformed', 'Cannot read mail: more than one mailbox in From')
  const author = mailboxes[0]
  if (!author || isDoubtful || !hasOneReading(value))
    throw new Rejection('malformed', 'Cannot read mail: From is not one plain mailbox')
  return author
}

/**
 * Each pattern also matches text that is never closed. Otherwise it would read that text again from each quote or
 * parenthesis in it.
 */
const quotedText = /"(?:[^"\\]|\\.)*("|\\?$)/gs

const commentText = /\((?:[^()<>@"\\]|\\.)*(\)|(?=[()<>@"])|\\?$)/gs

const blankIfClosed = (end: string) => (text: string, last: string) => (last === end ? ' ' : text)

/**
 * Returns true if a field has at most one `<…>` outside quotes and comments, and nothing after it. Of two, some programs read the first and some the
 * last, and a provider's verdict on one says nothing about the other.
 */
export function hasOneReading(value: string): boolean {
  const plainValue = value.replace(quotedText, blankIfClosed('"')).replace(commentText, blankIfClosed(')'))
  return /^[^<>"()]*(?:<[^<>"()]*>[\s,]*)?$/.test(plainValue)
}
