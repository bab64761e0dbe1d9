import type { EmailRow } from './row.ts'
import { titlesOf } from './row.ts'

const signatures = (...titles: readonly string[]) => titlesOf('test/signatures', ...titles)
const trust = (...titles: readonly string[]) => titlesOf('test/trust', ...titles)
const intake = (...titles: readonly string[]) => titlesOf('test/intake', ...titles)
const content = (...titles: readonly string[]) => titlesOf('test/content', ...titles)
const smtp = (...titles: readonly string[]) => titlesOf('test/smtp', ...titles)
const providers = (...titles: readonly string[]) => titlesOf('test/providers', ...titles)

/** Signatures: what changes, lacks or pretends. */
const signing: readonly EmailRow[] = [
  { row: 1, title: 'body changed after signing', shownBy: signatures('row 1: body changed') },
  { row: 2, title: 'signed Subject changed', shownBy: signatures('row 2: Subject changed') },
  {
    row: 3,
    title: 'second From above the signed one',
    shownBy: [...signatures('row 3: above'), ...intake('row 3: a second From above')],
  },
  {
    row: 4,
    title: 'second From below, signed twice or not',
    shownBy: [
      ...signatures('row 4: below, not signed twice', 'row 4: below, signed twice'),
      ...intake('row 4: a second From below everything else is refused'),
    ],
  },
  { row: 5, title: 'second of what is there once', shownBy: intake('row 5: a second %s is kept for the operator') },
  { row: 6, title: 'Subject not in h=', shownBy: signatures('row 6: a Subject it does not cover is flagged') },
  { row: 7, title: 'From not in h=', shownBy: signatures('row 7: From not signed') },
  {
    row: 8,
    title: 'l= smaller than the body',
    shownBy: signatures(
      'row 8: l= smaller than the body',
      'row 8: under p=reject a signature that leaves the end open does not help',
    ),
  },
  { row: 9, title: 'l=0', shownBy: signatures('row 9: l=0') },
  { row: 10, title: 'x= past or before t=', shownBy: signatures('row 10: x= in the past', 'row 10: x= before t=') },
  { row: 11, title: 't= ahead', shownBy: signatures('row 11: t= 20 minutes ahead') },
  {
    row: 12,
    title: 'short keys',
    shownBy: [
      ...signatures('row 12: 768 bits', 'row 12: 1024 bits, flagged'),
      ...trust('row 12: a floor of 2048 bits makes 1024 too weak'),
    ],
  },
  {
    row: 13,
    title: 'keys that are not for this',
    shownBy: signatures(
      'row 13: key revoked',
      'row 13: no p=',
      'row 13: two key records',
      'row 13: key of another service',
      'row 13: key for sha1 only',
      'row 13: key in testing',
    ),
  },
  { row: 14, title: 'rsa-sha1', shownBy: signatures('row 14: rsa-sha1') },
  {
    row: 15,
    title: 'i= outside of d=',
    shownBy: signatures('row 15: i= outside d=', 'row 15: t=s and a subdomain in i='),
  },
  {
    row: 16,
    title: 'unknown tags',
    shownBy: signatures(
      'row 16: v=2',
      'row 16: no v=',
      'row 16: q=http',
      'row 16: unknown algorithm',
      'row 16: unknown canonicalization',
    ),
  },
  { row: 17, title: 'Ed25519 only', shownBy: signatures('row 17: Ed25519 only') },
  {
    row: 18,
    title: 'first broken, second good',
    shownBy: signatures('row 18: the second one is good, the first is broken'),
  },
  {
    row: 19,
    title: 'signature of another domain',
    shownBy: signatures(
      'row 19: a good signature of another domain says who sent it on, not who wrote it',
      'row 19: nor does the signature of a sibling or of a child without a policy',
    ),
  },
  {
    row: 20,
    title: 'eleven signatures and more',
    shownBy: signatures(
      'row 20: of more than ten only those that could align are judged',
      'row 20: at most ten are judged',
      'row 20: over a hundred are refused',
    ),
  },
  {
    row: 21,
    title: 'a hundred with distinct l=',
    shownBy: signatures('row 21: a hundred with different l= over a large body cost no more than ten'),
  },
  {
    row: 22,
    title: 'ARC chains that are none',
    shownBy: trust(
      'row 22: with instance 51',
      'row 22: with a gap',
      'row 22: with an instance twice',
      'row 22: with cv=fail',
      'row 22: with eleven sets asks nobody for a key',
    ),
  },
  {
    row: 23,
    title: 'forged Authentication-Results',
    shownBy: [
      ...signatures('row 23: a forged Authentication-Results has no effect'),
      ...trust('row 23: Authentication-Results in the name of this house or a trusted sealer are not read'),
      ...titlesOf(
        'test/upstream',
        'is in nothing that agents and operators read',
        'is all of it nobody’s, where no server is named',
      ),
    ],
  },
  {
    row: 24,
    title: 'a signed mail replayed to others',
    shownBy: trust(
      'to somebody its header does not name is flagged; to those it names it is not',
      'to more than twenty in a day is kept from the agents',
    ),
  },
  {
    row: 25,
    title: 'the same mail to the same agent',
    shownBy: signatures('row 25: the same mail again is answered the same and kept once'),
  },
]

/** Who wrote it. */
const identity: readonly EmailRow[] = [
  {
    row: 26,
    title: 'no From, or not one mailbox',
    shownBy: intake('row 26: no From', 'row 26: an empty From', 'row 26: a group', 'row 26: two mailboxes'),
  },
  {
    row: 27,
    title: 'an address in the display name',
    shownBy: [
      ...intake('row 27: an address in the display name', 'row 27: the same in an encoded word'),
      ...content('row 27: the name of one of our agents is flagged'),
    ],
  },
  { row: 28, title: 'From is one encoded word', shownBy: intake('row 28: all of it one encoded word') },
  {
    row: 29,
    title: 'addresses that can be read in two ways',
    shownBy: intake(
      'row 29: an address in a quoted local part',
      'row 29: two at signs',
      'row 29: a control character',
      'row 29: NUL',
      'row 29: a source route',
      'row 29: the comments of RFC 5322 A.5',
      'row 29: From: %s has two readings and is refused',
      'row 29: From: %s is the same to us and to nodemailer',
    ),
  },
  {
    row: 30,
    title: 'letters that look like others',
    shownBy: [
      ...intake('row 30: letters of another alphabet'),
      ...content('row 30: letters that look like others', 'invalid punycode is refused: %s'),
    ],
  },
  { row: 31, title: 'dot at the end, upper case', shownBy: intake('row 31: a dot at the end and upper case') },
  {
    row: 33,
    title: 'From is one of our agents',
    shownBy: intake('row 33: one of our own agents, from outside, is refused'),
  },
]

const dns: readonly EmailRow[] = [
  {
    row: 34,
    title: 'SERVFAIL or silence',
    shownBy: [
      ...signatures(
        'for the key of an aligned signature: come back later; after the longest deferral taken unverified',
        'for the DMARC record: come back later, even with a good signature',
      ),
      ...titlesOf('src/authenticate/mail-dns', 'a resolver that keeps silent is trouble after the time-out'),
    ],
  },
  { row: 35, title: 'NXDOMAIN for the key', shownBy: signatures('row 35: NXDOMAIN for the key') },
  {
    row: 36,
    title: 'odd but good key records',
    shownBy: signatures('row 36: a key in several strings, with 4096 bits', 'row 36: a key record with %s'),
  },
  {
    row: 37,
    title: 'SPF that never ends',
    shownBy: titlesOf(
      'test/spf',
      'row 37: a policy that includes itself',
      'row 37: eleven look-ups',
      'row 37: three look-ups that find nothing',
      'row 37: macros that grow',
    ),
  },
  {
    row: 38,
    title: 'answers of absurd size',
    shownBy: titlesOf('src/authenticate/mail-dns', 'row 38: %s count as none'),
  },
  { row: 39, title: 'DMARC records that say nothing', shownBy: signatures('row 39: a DMARC record that says nothing') },
]

const shape: readonly EmailRow[] = [
  { row: 40, title: 'only a header', shownBy: intake('row 40: only a header, no empty line') },
  {
    row: 41,
    title: 'not a message',
    shownBy: intake('row 41: %s is refused', 'row 41: a CR of its own inside a header is refused'),
  },
  { row: 42, title: 'a header too large', shownBy: intake('row 42: %s is refused') },
  {
    row: 43,
    title: 'a crowd in To',
    shownBy: intake(
      'row 43: over 1000 recipients in the header are refused',
      'far too many entries in %s are refused before they are read',
    ),
  },
  {
    row: 44,
    title: 'over 25 MB',
    shownBy: [
      ...intake('row 44: larger than 25 MB is refused'),
      ...smtp('row 44: too large is refused by SIZE, and after DATA when SIZE was not said'),
      ...providers('row 44: an oversized mail is refused in words that end it'),
    ],
  },
  { row: 45, title: 'too deep, too many', shownBy: intake('row 45: %s is kept for the operator, unread') },
  { row: 46, title: '100 000 parts in 1 MB', shownBy: intake('100 000 parts in 1 MB (row 46)') },
  { row: 47, title: 'boundaries that are none', shownBy: content('row 47: boundaries') },
  { row: 48, title: 'encodings that are broken', shownBy: content('row 48: encodings that are broken') },
  { row: 49, title: 'long encoded fields', shownBy: content('row 49: long encoded fields') },
  {
    row: 50,
    title: 'HTML to choke on',
    shownBy: [
      ...content('row 50: HTML that is meant to choke on'),
      'packages/markup/src/html/linear-time.test.ts › htmlToText() takes linear time for much of %j',
    ],
  },
  { row: 51, title: 'bare CR, bare LF, NUL', shownBy: intake('row 51: bare LF, bare CR and NUL in the body') },
  { row: 52, title: 'archives', shownBy: content('row 52: what is packed is never unpacked') },
  {
    row: 53,
    title: 'names of files',
    shownBy: [
      ...intake('row 53: files are stored under safe names and handed on by digest'),
      ...content('row 53: the name a file came with is told beside the safe one'),
    ],
  },
  { row: 54, title: 'Date unreadable', shownBy: intake('row 54: an unreadable or absurd Date changes nothing') },
  {
    row: 55,
    title: 'References without end',
    shownBy: titlesOf('src/thread', 'row 55: references with commas, junk and thousands of ids keep beginning and end'),
  },
  {
    row: 56,
    title: 'reply text of one kind of line',
    shownBy: [
      ...titlesOf('src/reply-trim', 'row 56: 200 KB of %j end'),
      ...content('%s as a body: alive', '%s as a whole message: refused or taken, never thrown'),
    ],
  },
]

const meaning: readonly EmailRow[] = [
  {
    row: 58,
    title: 'text nobody sees',
    shownBy: [
      ...content(
        'tag characters, zero-width characters and direction overrides are taken out, counted and flagged',
        'HTML hidden by %s',
      ),
      'packages/markup/src/html/hidden-text.test.ts › by a style sheet with %s',
    ],
  },
  {
    row: 59,
    title: 'links that must not be followed',
    shownBy: content('row 59: only http, https and mailto targets are named, and nothing is fetched'),
  },
  {
    row: 60,
    title: 'two readings',
    shownBy: content('that say different things are flagged; the plain one is given, the other kept'),
  },
  {
    row: 61,
    title: 'S/MIME, OpenPGP, TNEF, calendar',
    shownBy: content(
      'row 61: what is only recognised',
      'an invitation is read, within bounds, and never answered by reading it',
    ),
  },
]

const transport: readonly EmailRow[] = [
  { row: 66, title: 'SMTP smuggling', shownBy: smtp('row 66: %s does not end a message') },
  {
    row: 68,
    title: 'XFORWARD of a stranger',
    shownBy: smtp('row 68: %s of a peer that is not configured is not heard'),
  },
  {
    row: 69,
    title: 'rude clients',
    shownBy: smtp(
      'row 69: an unknown agent is refused at RCPT, and the operator sees it',
      'row 69: one recipient too many is put off',
      'row 69: a line without end, nonsense and a silent client are cut off',
      'row 69: a client that sends one octet after the other is cut off in the end',
      'a mail of nothing but escaped dots is cut off before it takes the house its time',
    ),
  },
  {
    row: 70,
    title: 'three recipients, three answers',
    shownBy: smtp('row 70: each recipient gets its own answer, and a second try delivers only what is missing'),
  },
  {
    row: 71,
    title: 'webhooks that are not proven',
    shownBy: [
      ...intake('row 71: with %s is refused before anything is read', 'row 71: a wrong key', 'row 71: an old time'),
      ...providers(
        'row 71: a wrong signature or password is refused, and the operator sees it',
        'row 71: %s with an old time is refused',
        'row 71: a body encoded anew is no longer what was signed',
        'the same webhook again makes no second turn',
      ),
    ],
  },
  {
    row: 72,
    title: 'SNS that is none',
    shownBy: providers('row 72: %s is refused without a fetch', 'row 72: %s is not confirmed'),
  },
  {
    row: 73,
    title: 'bodies to choke on',
    shownBy: [
      ...intake('row 73: another content type or a coded body is refused'),
      ...providers('row 73: a coded body and another content type are refused', 'row 73: forms'),
    ],
  },
  {
    row: 74,
    title: 'the same mail over several ways',
    shownBy: providers('row 74: the same mail from three webhooks, the intake and LMTP is one turn'),
  },
]

/** Rows of the bug history that are about mail that comes in. */
export const incoming: readonly EmailRow[] = [...signing, ...identity, ...dns, ...shape, ...meaning, ...transport]
