import type { Mailbox } from '../addresses/mailbox.ts'
import type { HeaderBlock } from '../mail/header-scan.ts'
import { fieldValues } from '../mail/header-scan.ts'
import { matchFieldRules } from './field-rules.ts'

/** The input of the rules: header fields and the envelope, never the text. */
interface AutomaticFacts {
  readonly header: HeaderBlock
  readonly author: Mailbox
  /** MAIL FROM; empty for the null sender. */
  readonly envelopeFrom: string | undefined
  readonly isVerified: boolean
  /** The agent is in To. */
  readonly isInTo: boolean
  /** The agent is in To or Cc, or there is neither field. */
  readonly isAddressed: boolean
  /** Author, envelope sender, Message-ID or hop mark are of this gateway. */
  readonly isOwn: boolean
}

const daemon = /^(?:mailer-?daemon|post[-_.]?master|mail[-.]?delivery)/i

/** Local parts of mailboxes that nobody reads. */
const unread: readonly RegExp[] = [
  /^(?:no|do)[-_.]?(?:not[-_.]?)?reply/i,
  /^bounces?(?:[-+=\d]|$)/i,
  /-request$/i,
  /^owner-/i,
  /^(?:listserv|majordomo|mailman|auto-?respond(?:er)?|auto-?reply|vacation)$/i,
]

/** The facts of the envelope, the author and the addressing. */
const factRules: Readonly<Record<string, (facts: AutomaticFacts) => boolean>> = {
  own_mail: ({ isOwn }) => isOwn,
  bounce: ({ envelopeFrom, author }) =>
    envelopeFrom === '' || daemon.test(author.local) || daemon.test(envelopeFrom ?? ''),
  no_reply: ({ author }) => isUnread(author),
  silence_asked: ({ header, isInTo, isVerified }) =>
    !(isInTo && isVerified) &&
    fieldValues(header, 'x-auto-response-suppress').some(value => /\b(?:all|autoreply|oof)\b/i.test(value)),
  not_addressed: ({ isAddressed }) => !isAddressed,
}

/** Whether nobody reads that mailbox, by its name. */
export function isUnread({ local }: Pick<Mailbox, 'local'>): boolean {
  return daemon.test(local) || unread.some(pattern => pattern.test(local))
}

/** Why a message must not be answered; empty when a person may have written it. Looks at header fields only. */
export function findAutomaticMarks(facts: AutomaticFacts): string[] {
  const others = Object.keys(factRules).filter(flag => factRules[flag]?.(facts))
  return [...new Set([...matchFieldRules(facts.header), ...others])]
}
