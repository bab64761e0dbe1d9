// Recognizes mailboxes that nobody reads, by their names.
import type { Mailbox } from '../mail/mailbox.ts'

const daemonPattern = /^(?:mailer-?daemon|post[-_.]?master|mail[-.]?delivery)/i

const unattendedPatterns: readonly RegExp[] = [
  /^(?:no|do)[-_.]?(?:not[-_.]?)?reply/i,
  /^bounces?(?:[-+=\d]|$)/i,
  /-request$/i,
  /^owner-/i,
  /^(?:listserv|majordomo|mailman|auto-?respond(?:er)?|auto-?reply|vacation)$/i,
]

/** Returns true if a mail server uses the mailbox for its reports. */
export function isDaemon(local: string): boolean {
  return daemonPattern.test(local)
}

/** Returns true if nobody reads the mailbox. */
export function isUnattended({ local }: Pick<Mailbox, 'local'>): boolean {
  return isDaemon(local) || unattendedPatterns.some(pattern => pattern.test(local))
}
