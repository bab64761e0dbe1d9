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
  const { mailboxes, isAmbiguous } = readAddresses(value)
  if (mailboxes.length > 1) throw new Rejection('malformed', 'Cannot read mail: more than one mailbox in From')
  const author = mailboxes[0]
  if (!author || isAmbiguous || !isUnambiguous(value))
    throw new Rejection('malformed', 'Cannot read mail: From is not one plain mailbox')
  return author
}

/**
 * Both patterns also match an unclosed quote or comment. Otherwise the search would restart at each quote or
 * parenthesis and take quadratic time.
 */
const quotedTextPattern = /"(?:[^"\\]|\\.)*("|\\?$)/gs

const commentPattern = /\((?:[^()<>@"\\]|\\.)*(\)|(?=[()<>@"])|\\?$)/gs

const createBlanker = (closingMark: string) => (text: string, lastMark: string) =>
  lastMark === closingMark ? ' ' : text

/**
 * Returns true if a field has at most one `<…>` outside quotes and comments, and nothing after it. If there are two,
 * some programs read the first and some the last, and a provider's verdict on one says nothing about the other.
 */
export function isUnambiguous(value: string): boolean {
  const plainValue = value.replace(quotedTextPattern, createBlanker('"')).replace(commentPattern, createBlanker(')'))
  return /^[^<>"()]*(?:<[^<>"()]*>[\s,]*)?$/.test(plainValue)
}
