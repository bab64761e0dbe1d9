import { titlesOf } from './row.ts'

/** What mail asks for beside bad input (docs/conformance/email.md), and the tests that show it. */
interface BehaviourRow {
  readonly section: string
  readonly title: string
  readonly shownBy: readonly string[]
}

const row = (section: string, title: string, ...shownBy: readonly (readonly string[])[]): BehaviourRow => ({
  section,
  title,
  shownBy: shownBy.flat(),
})
const of =
  (file: string) =>
  (...titles: readonly string[]) =>
    titlesOf(`test/${file}`, ...titles)

const automatic = of('automatic')
const trust = of('trust')
const signatures = of('signatures')
const intake = of('intake')
const providers = of('providers')
const policy = of('policy')
const upstream = of('upstream')
const correspondents = of('correspondents')
const conversations = of('conversations')
const threads = of('threads')
const answers = of('answers')
const bounces = of('bounces')
const loops = of('loops')
const content = of('content')
const unreadable = of('unreadable')
const checks = (...titles: readonly string[]) =>
  titles.map(title => `apps/gateway/src/cli/mail-checks/mail-checks.test.ts › ${title}`)

const kept = 'EM-62: %s: %s is kept and not given to the agent'

const ways: readonly BehaviourRow[] = [
  row('EM-1.6', 'only the newest text, and none lost', content('of a reply is given, the full one kept beside it')),
  row('EM-1.7', 'hidden text', content('HTML hidden by %s')),
  row('EM-2.1', 'a relay over HTTP', intake('two agents get one message each')),
  row('EM-2.2', 'forms that lose octets', trust('and whose body was not ASCII is unverifiable, not failed')),
  row(
    'EM-2.2',
    "a provider's verdict",
    policy('proves the author where the operator says so, and the evidence names who said it'),
  ),
  row('EM-2.2', 'a pinned server in front', upstream('%s, proves the author', '%s, proves nothing')),
  row('EM-2.2', 'a pinned server at its own door only', upstream('another peer does not, whomever it says it is')),
  row(
    'EM-2.3',
    'each in its own words',
    providers(
      'a good webhook brings the mail as it was, and is told 200',
      'a mail for nobody here is refused in words that end it',
      '%s is told to come back',
      'is dropped where a refusal would go to whoever it names',
    ),
  ),
  row(
    'EM-2.4',
    'one mail by several ways',
    providers('EM-74: the same mail from three webhooks, the intake and LMTP is one turn'),
  ),
  row(
    'EM-2.5',
    'SNS',
    providers('signature versions 1 and 2 count, and the certificate is fetched once', 'EM-72: %s is not confirmed'),
  ),
]

const silence: readonly BehaviourRow[] = [
  row(
    'EM-4.1',
    'bounces, receipts, complaints, automatic replies, lists, no-reply, our own, not for us',
    automatic(kept),
  ),
  row('EM-4.1', 'people', automatic('EM-62: a person with %s is answered')),
  row(
    'EM-4.1',
    'silence that a person asks for',
    automatic('a proven person who writes to the agent is answered in spite of X-Auto-Response-Suppress'),
  ),
  row(
    'EM-4.1',
    'lists by option',
    conversations('with answer_lists who is proven is answered alone, the list never; who is not is not'),
  ),
  row('EM-4.1', 'not in To or Cc, by option', automatic('with answer_bcc a forwarded mail is answered too')),
  row(
    'EM-4.1',
    'automatic replies by option',
    of('auto-replies')('an automatic reply %s is given to the agent, who is told, and nothing is sent for it'),
  ),
  row(
    'EM-4.1',
    'our mail says what it is',
    loops('EM-64: what a gateway sends says so, and another gateway does not answer it'),
  ),
  row(
    'EM-4.1',
    'budgets',
    loops(
      'to one correspondent so many answers in an hour, in whatever thread; others are not concerned',
      'in one thread so many in an hour and in a day',
      'the same words again and again in one thread are no conversation',
      'one that does not say so is stopped within ten turns: nobody reads and types that fast',
    ),
  ),
  row('EM-4.1', 'notices of our own, once a day', unreadable('is told once in a conversation, and once a day')),
]

const belonging: readonly BehaviourRow[] = [
  row(
    'EM-4.2',
    'the thread of References',
    threads(
      'an answer to our answer continues the thread and brings the history along',
      'the root of References is the thread of a message we see in the middle',
    ),
  ),
  row(
    'EM-4.2',
    'who takes part',
    conversations('a guessed Message-ID opens nobody’s conversation, however well the guesser is proven'),
  ),
  row('EM-4.2', 'Thread-Index', conversations('Outlook’s Thread-Index is carried on, five octets longer')),
  row('EM-4.2', 'no Message-ID', answers('a message without an id of its own is not quoted by one we made up')),
  row(
    'EM-4.3',
    'routing by the envelope, then Delivered-To',
    intake(
      'recipients in any case, in brackets and with a tag reach the agent once',
      'without recipients in the envelope the header names them',
    ),
  ),
  row('EM-4.3', 'SMTPUTF8', of('smtp')('SMTPUTF8: letters beyond ASCII in envelope and header (RFC 6531, RFC 6532)')),
  row(
    'EM-4.3',
    'who looks like a correspondent',
    correspondents('by %s is flagged, proven or not, and the agent is told', 'and others are not'),
  ),
  row(
    'EM-4.3',
    'reply tokens',
    conversations(
      'a reply to the signed address finds its thread although its program wrote no References',
      'a forged token is data like any other tag',
    ),
  ),
  row(
    'EM-4.4',
    'VERP',
    bounces(
      'a hard bounce makes the delivery dead and suppresses the address: nothing more is mailed there',
      'a soft bounce is tried again hours later; a delay changes nothing',
      'words alone are no report: a vacation notice to that address changes nothing',
    ),
  ),
  row('EM-4.4', 'complaints', bounces('whoever complains gets nothing more; the delivery stays sent')),
  row(
    'EM-4.5',
    'Reply-To',
    threads('EM-32: the Reply-To of a proven domain is used, that of another is not'),
    signatures('EM-32: a Reply-To it does not cover is not used'),
  ),
]

const verdicts: readonly BehaviourRow[] = [
  row(
    'EM-4.6',
    'DMARC and an aligned, whole signature',
    signatures("rsa-sha256 of the author's domain with a DMARC record"),
  ),
  row('EM-4.6', 'no DMARC record, aligned', signatures('without a DMARC record it proves the domain (EM-4.6)')),
  row(
    'EM-4.6',
    'SPF alone',
    signatures('SPF alone passes DMARC but verifies nobody'),
    trust('verifies where the operator says so, and says by what'),
  ),
  row(
    'EM-4.6',
    'a signature of another domain',
    signatures('EM-19: a good signature of another domain says who sent it on, not who wrote it'),
  ),
  row(
    'EM-4.6',
    'ARC',
    trust('saves a mail that a list has changed, under p=reject', 'is not looked at where no sealer is trusted'),
  ),
  row(
    'EM-4.6',
    'DNS trouble',
    signatures('for the key of an aligned signature: come back later; after the longest deferral taken unverified'),
  ),
  row(
    'EM-4.6',
    'a policy that fails',
    signatures(
      'p=reject without aligned proof: refused',
      'p=quarantine without aligned proof: kept for the operator, not for the agent',
    ),
  ),
  row('EM-4.6', 'no policy, nothing signed', signatures('p=none and nothing signed: taken, unverified')),
  row(
    'EM-4.6',
    'the tree walk',
    of('dmarc-tree')(
      'a name below it that does not: np=',
      'a policy on trial (t=y): one step milder',
      'a public suffix (psd=y) is no organization',
    ),
  ),
]

const outward: readonly BehaviourRow[] = [
  row('EM-4.7', 'text and HTML', answers('markdown is text as it is, and HTML of a few elements')),
  row('EM-4.7', 'every header once', answers('what is sent is exactly what was asked for, with every header once')),
  row(
    'EM-4.8',
    'reply to all',
    conversations(
      'the people in To and Cc are answered; our agents, no-reply addresses and the author twice are not',
      'never to strangers: an author who is not proven is answered alone',
    ),
  ),
  row(
    'EM-4.8',
    'mentions',
    of('siblings')(
      'an agent that is mentioned stands in Cc and is given the answer here; the chain ends, and nobody was mailed for it',
    ),
  ),
  row('EM-4.9', 'S/MIME, PGP, TNEF', content('EM-61: what is only recognised')),
  row(
    'EM-4.9',
    'a notice about what is encrypted',
    unreadable('who writes with %s is told that it cannot be read', 'nothing is told to somebody who writes %s'),
  ),
  row('EM-4.9', 'calendar', content('an invitation is read, within bounds, and never answered by reading it')),
  row(
    'EM-4.9',
    'forwarded mail',
    content('of a forwarding is all of it', 'is told where the agent was not alone, and who passed the mail on'),
  ),
  row(
    'EM-4.10',
    'both signatures',
    titlesOf(
      'src/dkim/signer',
      'sign() puts an RSA and an Ed25519 signature on top, and both verify',
      'a signature covers the whole body and is over after seven days',
    ),
  ),
  row('EM-4.10', 'what the smarthost says', answers('what the smarthost says is passed on')),
  row(
    'EM-7.4',
    'doctor',
    checks(
      'the PTR record is only a hint',
      'a short secret of the intake can be guessed',
      'it should say who brought a mail',
    ),
    of('probe')('a mail to ourselves is signed, comes back, is proven by our own records, and goes to no agent'),
  ),
]

export const behaviour: readonly BehaviourRow[] = [...ways, ...silence, ...belonging, ...verdicts, ...outward]
