import type { Mailbox } from './addresses.ts'
import type { HeaderBlock } from './header-scan.ts'
import { fieldValues } from './header-scan.ts'

/** What the rules look at: header fields and the envelope, never the text. */
export interface AutomaticFacts {
  readonly header: HeaderBlock
  readonly author: Mailbox
  /** MAIL FROM; empty for the null sender. */
  readonly envelopeFrom: string | undefined
  readonly isVerified: boolean
  /** The agent stands in To. */
  readonly isInTo: boolean
  /** The agent stands in To or Cc, or there is neither field. */
  readonly isAddressed: boolean
  /** Author, envelope sender or Message-ID are of this gateway. */
  readonly isOwn: boolean
}

interface FieldRule {
  readonly flag: string
  readonly field: string
  readonly pattern: RegExp
}

const present = /^/
const notPersonal = /^(?:no|do)[-_.]?(?:not[-_.]?)?reply|^donotreply|^bounces?\b|^bounce[-+=]|-request$|^owner-/i
const daemon = /^(?:mailer-?daemon|postmaster|mail-?delivery|mail\.delivery)/i

/** Fields that mark mail nobody wrote to an agent (`reference/email.md` §4.1, RFC 3834 §2). */
const fieldRules: readonly FieldRule[] = [
  { flag: 'disposition_notice', field: 'content-type', pattern: /report-type\s*=\s*"?disposition-notification/i },
  { flag: 'feedback_report', field: 'content-type', pattern: /report-type\s*=\s*"?feedback-report/i },
  { flag: 'bounce', field: 'content-type', pattern: /^multipart\/report\b/i },
  { flag: 'bounce', field: 'x-failed-recipients', pattern: present },
  { flag: 'bounce', field: 'return-path', pattern: /^<\s*>$/ },
  { flag: 'auto_reply', field: 'auto-submitted', pattern: /^(?!no\s*(?:[;(]|$))/i },
  { flag: 'auto_reply', field: 'x-autoreply', pattern: present },
  { flag: 'auto_reply', field: 'x-autorespond', pattern: present },
  { flag: 'auto_reply', field: 'x-autoresponder', pattern: present },
  { flag: 'auto_reply', field: 'x-auto-reply-from', pattern: present },
  { flag: 'auto_reply', field: 'precedence', pattern: /^auto_reply\b/i },
  { flag: 'list', field: 'list-id', pattern: present },
  { flag: 'list', field: 'list-post', pattern: present },
  { flag: 'bulk', field: 'list-unsubscribe', pattern: present },
  { flag: 'bulk', field: 'precedence', pattern: /^(?:bulk|list|junk)\b/i },
  { flag: 'bulk', field: 'feedback-id', pattern: present },
]

/** What the envelope, the author and the addressing say. */
const factRules: Readonly<Record<string, (facts: AutomaticFacts) => boolean>> = {
  own_mail: ({ isOwn }) => isOwn,
  bounce: ({ envelopeFrom, author }) =>
    envelopeFrom === '' || daemon.test(author.local) || daemon.test(envelopeFrom ?? ''),
  no_reply: ({ author }) => notPersonal.test(author.local),
  silence_asked: ({ header, isInTo, isVerified }) =>
    !(isInTo && isVerified) &&
    fieldValues(header, 'x-auto-response-suppress').some(value => /\b(?:all|autoreply|oof)\b/i.test(value)),
  not_addressed: ({ isAddressed }) => !isAddressed,
}

/** Why a message must not be answered; empty when a person may have written it. Looks at header fields only. */
export function findAutomaticMarks(facts: AutomaticFacts): string[] {
  const fields = fieldRules.filter(({ field, pattern }) =>
    fieldValues(facts.header, field).some(value => pattern.test(value)),
  )
  const others = Object.keys(factRules).filter(flag => factRules[flag]?.(facts))
  return [...new Set([...fields.map(({ flag }) => flag), ...others])]
}
