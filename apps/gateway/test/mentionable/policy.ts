import { a2a, core, gateway, section } from './row.ts'

const kinds = (...titles: readonly string[]) => gateway('requirement-kinds', ...titles)
const payment = (...titles: readonly string[]) => gateway('payment', ...titles)
const consent = (...titles: readonly string[]) => gateway('consent', ...titles)
const store = (...titles: readonly string[]) =>
  titles.map(title => `packages/testing/src/store/requirements.ts › ${title}`)

/** MN-7: what an agent asks for before it goes on. */
export const policyRows = [
  ...section(
    'MN-7.1',
    [
      'P',
      'consent_required',
      consent('MN-7: consent asked for by mail is given on the page, and the agent goes on by mail'),
    ],
    [
      'P',
      'unauthorized, with challenges',
      kinds('A2A AUTH-INTASK: who has to say who he is, is told so in the task, how, and may go on with it'),
    ],
    ['P', 'payment_required', payment('MN-7.1: a payment is required as input-required, with all it takes to pay')],
    [
      'P',
      'forbidden and the other refusals',
      kinds('MN-7.1: a refusal over ActivityPub is told in words, to whom it is for'),
    ],
    [
      'P',
      'too_many_requests, after how many seconds',
      [
        ...gateway(
          'limits',
          'ActivityPub: 429 with Retry-After; others on the same host go on',
          'A2A: 429 in the form of each binding, with the time after which to try again',
        ),
      ],
    ],
    ['P', 'message is required', core('part', 'a requirement without message')],
    [
      'P',
      'url is https, on the agent’s own origin',
      [
        ...core('part', 'a requirement that leads to plain HTTP', 'a requirement that leads into a script'),
        ...consent('MN-7.1: an agent that leads people to another origin fails, and they get no link'),
      ],
    ],
    [
      'P',
      'an unknown kind is kept, told by its words, and no success',
      [
        ...kinds('what is unknown is kept, shown by its words, and never success'),
        ...core('part', 'a requirement of an unknown kind'),
      ],
    ],
    ['P', 'look at the evidence first', line()],
    [
      'P',
      'the card advertises the policy extension',
      gateway('resolve', 'MN-1.4: the card lists the extensions that are on, and no other'),
    ],
    [
      'P',
      'the wire alone is fixed: on A2A data and words, elsewhere words and a link',
      [
        ...a2a('src/parts/parts', 'writeParts() keeps a policy whole as data, and says it in words, too'),
        ...kinds(
          'a requirement over ActivityPub is a direct reply to the sender alone, however public the question was',
        ),
      ],
    ],
    ['P', 'on REST the kind is the HTTP status', { leftOut: 'REST is no door of ours' }],
  ),
  ...section(
    'MN-7.2',
    [
      'G',
      'the next turn carries the verified completion',
      [
        ...consent('MN-7: consent asked for by mail is given on the page, and the agent goes on by mail'),
        ...payment('MN-7.2: a receipt goes on with the task; it counts once, and a retry of it is the same call'),
      ],
    ],
    [
      'G',
      'it is checked against our own store: that it is there proves nothing',
      [
        ...consent(
          'a state that an agent made up is not the one that counts',
          'what nobody has asked is not known, whatever it looks like',
        ),
        ...payment('not as another kind, nor of a state nobody issued'),
      ],
    ],
    [
      'P',
      'single use, on a crash, too',
      [
        ...store(
          'of many decisions at once exactly one counts',
          'a decision of an unknown, expired or used requirement, or of another kind, is refused and changes nothing',
        ),
        ...gateway(
          'requirement-crash',
          'a gateway that is killed while a requirement is decided decides it once, and the agent is told once',
        ),
      ],
    ],
  ),
]

/** `context.identity.has()` comes before every requirement. */
function line(): readonly string[] {
  return core('access', 'context.identity.has()')
}
