import { core, gateway, identity, section } from './row.ts'

const attacks = (...titles: readonly string[]) => identity('test/attacks', ...titles)
const cases = identity(
  'test/cases',
  'MN-6.5, $name',
  'every word of the published vocabulary has cases, and so has each of ours',
)
const line = (...titles: readonly string[]) => gateway('identity', ...titles)

/** What somebody trustworthy says of who is speaking. */
export const identityRows = [
  ...section(
    'MN-6.1',
    [
      'P',
      'doors and connectors verify, the operator’s policy decides what counts, agents what suffices',
      line(
        'brings the agent the identity, after that of the caller',
        'for another agent runs without it, and the operator sees why',
      ),
    ],
    ['P', 'there is no closed list of methods', identity('src/config', '%s can be trusted')],
    [
      'P',
      'evidence is no login: when it is not enough, the agent asks for more',
      gateway(
        'requirement-kinds',
        'A2A AUTH-INTASK: who has to say who he is, is told so in the task, how, and may go on with it',
      ),
    ],
  ),
  ...section(
    'MN-6.2',
    [
      'P',
      'the envelope’s members, and three kinds of proof',
      [...core('message', 'refuses a verified sender who was proven by nothing'), ...cases],
    ],
    ['P', 'assurance is an open word', identity('src/config', '%s can be trusted')],
    [
      'P',
      'evidence that crosses a border is signed, for an audience, and expires soon',
      [
        ...line('with a signed attestation, too; and it counts once, also after a restart'),
        ...attacks('evidence for another audience is left out before anything is fetched'),
      ],
    ],
  ),
  ...section(
    'MN-6.3',
    [
      'P',
      'first: has this connector signed it?',
      [
        ...attacks('that says it is another, with a key of its own, is found out'),
        'apps/connector-example/test/trust.test.ts › MN-6.3: a forged attestation proves nothing, and the agent runs without it',
      ],
    ],
    [
      'P',
      'then: may it be relied on for this method, assurance and subject? Only then is it attached',
      attacks(
        'whose issuer nobody trusts causes no outgoing byte',
        'entries of one issuer do not add up: each has to admit all of it',
      ),
    ],
    [
      'P',
      'last: may this subject do this, here?',
      [
        ...core(
          'access',
          'with an allow list only those on it may',
          'a denial wins over every allowance, for each identity of the sender',
        ),
        ...line('A2A: who has a credential of the one trusted issuer gets in, unless he is denied'),
      ],
    ],
    [
      'P',
      'slack:T123/ is not slack:T1234/',
      [
        ...attacks('slack:T123 without the slash admits slack:T123/U1 and not slack:T1234/U1'),
        ...core('access', 'hasSubjectPrefix()'),
      ],
    ],
  ),
  ...section(
    'MN-6.5',
    ['CK', 'credentials are VC 2.0 with the two contexts, of a DID', cases],
    [
      'CK',
      'the proof is eddsa-jcs-2022, for assertionMethod, and repeats the context',
      [...identity('src/data-integrity', 'vc-di-eddsa, eddsa-jcs-2022: the vector of the W3C'), ...cases],
    ],
    [
      'CK',
      'domain is the recipient, challenge the messageId',
      [...attacks('evidence for another audience is left out before anything is fetched'), ...cases],
    ],
    ['CK', 'ten minutes at most, sixty seconds of skew', [...attacks('%d ms after it was made'), ...cases]],
    [
      'CK',
      'consumed once, by issuer, domain and challenge, last of all',
      attacks(
        'counts once',
        'bad evidence uses nothing up',
        'is known though the credential is another one for the same message',
      ),
    ],
    ['CK', 'the codes of rejection', cases],
  ),
  ...section('MN-6.6', ['CK', 'OAuth federation', { leftOut: 'an optional later profile; no card advertises it' }]),
]
