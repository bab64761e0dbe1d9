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
  { row: 'EM-01', title: 'body changed after signing', shownBy: signatures('EM-01: body changed') },
  { row: 'EM-02', title: 'signed Subject changed', shownBy: signatures('EM-02: Subject changed') },
  {
    row: 'EM-03',
    title: 'second From above the signed one',
    shownBy: [...signatures('EM-03: above'), ...intake('EM-03: a second From above')],
  },
  {
    row: 'EM-04',
    title: 'second From below, signed twice or not',
    shownBy: [
      ...signatures('EM-04: below, not signed twice', 'EM-04: below, signed twice'),
      ...intake('EM-04: a second From below everything else is refused'),
    ],
  },
  {
    row: 'EM-05',
    title: 'second of what is there once',
    shownBy: intake('EM-05: a second %s is kept for the operator'),
  },
  { row: 'EM-06', title: 'Subject not in h=', shownBy: signatures('EM-06: a Subject it does not cover is flagged') },
  { row: 'EM-07', title: 'From not in h=', shownBy: signatures('EM-07: From not signed') },
  {
    row: 'EM-08',
    title: 'l= smaller than the body',
    shownBy: signatures(
      'EM-08: l= smaller than the body',
      'EM-08: under p=reject a signature that leaves the end open does not help',
    ),
  },
  { row: 'EM-09', title: 'l=0', shownBy: signatures('EM-09: l=0') },
  { row: 'EM-10', title: 'x= past or before t=', shownBy: signatures('EM-10: x= in the past', 'EM-10: x= before t=') },
  { row: 'EM-11', title: 't= ahead', shownBy: signatures('EM-11: t= 20 minutes ahead') },
  {
    row: 'EM-12',
    title: 'short keys',
    shownBy: [
      ...signatures('EM-12: 768 bits', 'EM-12: 1024 bits, flagged'),
      ...trust('EM-12: a floor of 2048 bits makes 1024 too weak'),
    ],
  },
  {
    row: 'EM-13',
    title: 'keys that are not for this',
    shownBy: signatures(
      'EM-13: key revoked',
      'EM-13: no p=',
      'EM-13: two key records',
      'EM-13: key of another service',
      'EM-13: key for sha1 only',
      'EM-13: key in testing',
    ),
  },
  { row: 'EM-14', title: 'rsa-sha1', shownBy: signatures('EM-14: rsa-sha1') },
  {
    row: 'EM-15',
    title: 'i= outside of d=',
    shownBy: signatures('EM-15: i= outside d=', 'EM-15: t=s and a subdomain in i='),
  },
  {
    row: 'EM-16',
    title: 'unknown tags',
    shownBy: signatures(
      'EM-16: v=2',
      'EM-16: no v=',
      'EM-16: q=http',
      'EM-16: unknown algorithm',
      'EM-16: unknown canonicalization',
    ),
  },
  { row: 'EM-17', title: 'Ed25519 only', shownBy: signatures('EM-17: Ed25519 only') },
  {
    row: 'EM-18',
    title: 'first broken, second good',
    shownBy: signatures('EM-18: the second one is good, the first is broken'),
  },
  {
    row: 'EM-19',
    title: 'signature of another domain',
    shownBy: signatures(
      'EM-19: a good signature of another domain says who sent it on, not who wrote it',
      'EM-19: nor does the signature of a sibling or of a child without a policy',
    ),
  },
  {
    row: 'EM-20',
    title: 'eleven signatures and more',
    shownBy: signatures(
      'EM-20: of more than ten only those that could align are judged',
      'EM-20: at most ten are judged',
      'EM-20: over a hundred are refused',
    ),
  },
  {
    row: 'EM-21',
    title: 'a hundred with distinct l=',
    shownBy: signatures('EM-21: a hundred with different l= over a large body cost no more than ten'),
  },
  {
    row: 'EM-22',
    title: 'ARC chains that are none',
    shownBy: trust(
      'EM-22: with instance 51',
      'EM-22: with a gap',
      'EM-22: with an instance twice',
      'EM-22: with cv=fail',
      'EM-22: with eleven sets asks nobody for a key',
    ),
  },
  {
    row: 'EM-23',
    title: 'forged Authentication-Results',
    shownBy: [
      ...signatures('EM-23: a forged Authentication-Results has no effect'),
      ...trust('EM-23: Authentication-Results in the name of this gateway or a trusted sealer are not read'),
      ...titlesOf(
        'test/upstream',
        'is in nothing that agents and operators read',
        'is all of it nobody’s, where no server is named',
      ),
    ],
  },
  {
    row: 'EM-24',
    title: 'a signed mail replayed to others',
    shownBy: trust(
      'to somebody its header does not name is flagged; to those it names it is not',
      'to more than twenty in a day is kept from the agents',
    ),
  },
  {
    row: 'EM-25',
    title: 'the same mail to the same agent',
    shownBy: signatures('EM-25: the same mail again is answered the same and kept once'),
  },
]

/** Who wrote it. */
const identity: readonly EmailRow[] = [
  {
    row: 'EM-26',
    title: 'no From, or not one mailbox',
    shownBy: intake('EM-26: no From', 'EM-26: an empty From', 'EM-26: a group', 'EM-26: two mailboxes'),
  },
  {
    row: 'EM-27',
    title: 'an address in the display name',
    shownBy: [
      ...intake('EM-27: an address in the display name', 'EM-27: the same in an encoded word'),
      ...content('EM-27: the name of one of our agents is flagged'),
    ],
  },
  { row: 'EM-28', title: 'From is one encoded word', shownBy: intake('EM-28: all of it one encoded word') },
  {
    row: 'EM-29',
    title: 'addresses that can be read in two ways',
    shownBy: intake(
      'EM-29: an address in a quoted local part',
      'EM-29: two at signs',
      'EM-29: a control character',
      'EM-29: NUL',
      'EM-29: a source route',
      'EM-29: the comments of RFC 5322 A.5',
      'EM-29: From: %s has two readings and is refused',
      'EM-29: From: %s is the same to us and to nodemailer',
    ),
  },
  {
    row: 'EM-30',
    title: 'letters that look like others',
    shownBy: [
      ...intake('EM-30: letters of another alphabet'),
      ...content('EM-30: letters that look like others', 'invalid punycode is refused: %s'),
    ],
  },
  { row: 'EM-31', title: 'dot at the end, upper case', shownBy: intake('EM-31: a dot at the end and upper case') },
  {
    row: 'EM-33',
    title: 'From is one of our agents',
    shownBy: intake('EM-33: one of our own agents, from outside, is refused'),
  },
]

const dns: readonly EmailRow[] = [
  {
    row: 'EM-34',
    title: 'SERVFAIL or silence',
    shownBy: [
      ...signatures(
        'for the key of an aligned signature: come back later; after the longest deferral taken unverified',
        'for the DMARC record: come back later, even with a good signature',
      ),
      ...titlesOf('src/authenticate/mail-dns', 'a resolver that keeps silent is trouble after the time-out'),
    ],
  },
  { row: 'EM-35', title: 'NXDOMAIN for the key', shownBy: signatures('EM-35: NXDOMAIN for the key') },
  {
    row: 'EM-36',
    title: 'odd but good key records',
    shownBy: signatures('EM-36: a key in several strings, with 4096 bits', 'EM-36: a key record with %s'),
  },
  {
    row: 'EM-37',
    title: 'SPF that never ends',
    shownBy: titlesOf(
      'test/spf',
      'EM-37: a policy that includes itself',
      'EM-37: eleven look-ups',
      'EM-37: three look-ups that find nothing',
      'EM-37: macros that grow',
    ),
  },
  {
    row: 'EM-38',
    title: 'answers of absurd size',
    shownBy: titlesOf('src/authenticate/mail-dns', 'EM-38: %s count as none'),
  },
  {
    row: 'EM-39',
    title: 'DMARC records that say nothing',
    shownBy: signatures('EM-39: a DMARC record that says nothing'),
  },
]

const shape: readonly EmailRow[] = [
  { row: 'EM-40', title: 'only a header', shownBy: intake('EM-40: only a header, no empty line') },
  {
    row: 'EM-41',
    title: 'not a message',
    shownBy: intake('EM-41: %s is refused', 'EM-41: a CR of its own inside a header is refused'),
  },
  { row: 'EM-42', title: 'a header too large', shownBy: intake('EM-42: %s is refused') },
  {
    row: 'EM-43',
    title: 'a crowd in To',
    shownBy: intake(
      'EM-43: over 1000 recipients in the header are refused',
      'far too many entries in %s are refused before they are read',
    ),
  },
  {
    row: 'EM-44',
    title: 'over 25 MB',
    shownBy: [
      ...intake('EM-44: larger than 25 MB is refused'),
      ...smtp('EM-44: too large is refused by SIZE, and after DATA when SIZE was not said'),
      ...providers('EM-44: an oversized mail is refused in words that end it'),
    ],
  },
  { row: 'EM-45', title: 'too deep, too many', shownBy: intake('EM-45: %s is kept for the operator, unread') },
  { row: 'EM-46', title: '100 000 parts in 1 MB', shownBy: intake('100 000 parts in 1 MB (EM-46)') },
  { row: 'EM-47', title: 'boundaries that are none', shownBy: content('EM-47: boundaries') },
  { row: 'EM-48', title: 'encodings that are broken', shownBy: content('EM-48: encodings that are broken') },
  { row: 'EM-49', title: 'long encoded fields', shownBy: content('EM-49: long encoded fields') },
  {
    row: 'EM-50',
    title: 'HTML to choke on',
    shownBy: [
      ...content('EM-50: HTML that is meant to choke on'),
      'packages/markup/src/html/linear-time.test.ts › htmlToText() takes linear time for much of %j',
    ],
  },
  { row: 'EM-51', title: 'bare CR, bare LF, NUL', shownBy: intake('EM-51: bare LF, bare CR and NUL in the body') },
  { row: 'EM-52', title: 'archives', shownBy: content('EM-52: what is packed is never unpacked') },
  {
    row: 'EM-53',
    title: 'names of files',
    shownBy: [
      ...intake('EM-53: files are stored under safe names and handed on by digest'),
      ...content('EM-53: the name a file came with is told beside the safe one'),
    ],
  },
  { row: 'EM-54', title: 'Date unreadable', shownBy: intake('EM-54: an unreadable or absurd Date changes nothing') },
  {
    row: 'EM-55',
    title: 'References without end',
    shownBy: titlesOf('src/thread', 'EM-55: references with commas, junk and thousands of ids keep beginning and end'),
  },
  {
    row: 'EM-56',
    title: 'reply text of one kind of line',
    shownBy: [
      ...titlesOf('src/reply-trim', 'EM-56: 200 KB of %j end'),
      ...content('%s as a body: alive', '%s as a whole message: refused or taken, never thrown'),
    ],
  },
]

const meaning: readonly EmailRow[] = [
  {
    row: 'EM-58',
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
    row: 'EM-59',
    title: 'links that must not be followed',
    shownBy: content('EM-59: only http, https and mailto targets are named, and nothing is fetched'),
  },
  {
    row: 'EM-60',
    title: 'two readings',
    shownBy: content('that say different things are flagged; the plain one is given, the other kept'),
  },
  {
    row: 'EM-61',
    title: 'S/MIME, OpenPGP, TNEF, calendar',
    shownBy: content(
      'EM-61: what is only recognised',
      'an invitation is read, within bounds, and never answered by reading it',
    ),
  },
]

const transport: readonly EmailRow[] = [
  { row: 'EM-66', title: 'SMTP smuggling', shownBy: smtp('EM-66: %s does not end a message') },
  {
    row: 'EM-68',
    title: 'XFORWARD of a stranger',
    shownBy: smtp('EM-68: %s of a peer that is not configured is not heard'),
  },
  {
    row: 'EM-69',
    title: 'rude clients',
    shownBy: smtp(
      'EM-69: an unknown agent is refused at RCPT, and the operator sees it',
      'EM-69: one recipient too many is put off',
      'EM-69: a line without end, nonsense and a silent client are cut off',
      'EM-69: a client that sends one octet after the other is cut off in the end',
      'a mail of nothing but escaped dots is cut off before it takes the gateway its time',
    ),
  },
  {
    row: 'EM-70',
    title: 'three recipients, three answers',
    shownBy: smtp('EM-70: each recipient gets its own answer, and a second try delivers only what is missing'),
  },
  {
    row: 'EM-71',
    title: 'webhooks that are not proven',
    shownBy: [
      ...intake('EM-71: with %s is refused before anything is read', 'EM-71: a wrong key', 'EM-71: an old time'),
      ...providers(
        'EM-71: a wrong signature or password is refused, and the operator sees it',
        'EM-71: %s with an old time is refused',
        'EM-71: a body encoded anew is no longer what was signed',
        'the same webhook again makes no second turn',
      ),
    ],
  },
  {
    row: 'EM-72',
    title: 'SNS that is none',
    shownBy: providers('EM-72: %s is refused without a fetch', 'EM-72: %s is not confirmed'),
  },
  {
    row: 'EM-73',
    title: 'bodies to choke on',
    shownBy: [
      ...intake('EM-73: another content type or a coded body is refused'),
      ...providers('EM-73: a coded body and another content type are refused', 'EM-73: forms'),
    ],
  },
  {
    row: 'EM-74',
    title: 'the same mail over several ways',
    shownBy: providers('EM-74: the same mail from three webhooks, the intake and LMTP is one turn'),
  },
]

/** Rows of the bug history that are about mail that comes in. */
export const incoming: readonly EmailRow[] = [...signing, ...identity, ...dns, ...shape, ...meaning, ...transport]
