// Finds header fields that a message repeats, although RFC 5322 allows each of them only once.
import type { HeaderBlock } from './header.ts'
import { fieldValues } from './header.ts'

/** Fields that a message may have only once (RFC 5322 §3.6, RFC 2045 §3). A second `From` is refused elsewhere. */
const singleFields = [
  'sender',
  'reply-to',
  'to',
  'cc',
  'date',
  'subject',
  'message-id',
  'in-reply-to',
  'references',
  'content-type',
  'content-transfer-encoding',
] as const

/** Returns the names of the fields that a message repeats. Callers must not choose one of several values. */
export function findRepeatedFields(header: HeaderBlock): string[] {
  return singleFields.filter(name => fieldValues(header, name).length > 1)
}
