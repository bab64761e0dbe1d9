// Lists installations for the doctor's checks of discovery and channels, behind proxies.
import { openDoctorBench } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { askPublic, pageOrigin } from '../setup/public-gateway.ts'

/** Builds a failing case behind a proxy that hides some paths, and a passing one behind a proxy that forwards all. */
const buildHiddenPathCase = (
  id: string,
  hides: RegExp,
  words: { readonly fails: string | RegExp; readonly holds: string },
) => ({
  fails: { examine: () => askPublic(id, { hides }), says: words.fails },
  holds: { examine: () => askPublic(id), says: words.holds },
})

export const discoveryCases: Cases = {
  'discovery.webfinger': buildHiddenPathCase('discovery.webfinger', /\/webfinger/, {
    fails: 'answers 404',
    holds: 'as peers expect',
  }),
  'discovery.actor': buildHiddenPathCase('discovery.actor', /^\/agents\/echo$/, {
    fails: 'answers 404',
    holds: 'as peers expect',
  }),
  'discovery.agent_card': buildHiddenPathCase('discovery.agent_card', /^\/\.well-known\/agent-card\/echo/, {
    fails: 'answers 404',
    holds: 'as peers expect',
  }),
  'discovery.calls': buildHiddenPathCase('discovery.calls', /^\/\.well-known\/jwks/, {
    fails: /sign|key/,
    holds: 'as peers expect',
  }),
  'discovery.pages': buildHiddenPathCase('discovery.pages', /mentionable-agents/, {
    fails: 'no directory',
    holds: 'as peers expect',
  }),
  'discovery.host_meta': buildHiddenPathCase('discovery.host_meta', /host-meta/, {
    fails: 'cannot fetch host-meta: 404',
    holds: 'where WebFinger is',
  }),
  'discovery.nodeinfo': buildHiddenPathCase('discovery.nodeinfo', /nodeinfo\/2/, {
    fails: 'it answers 404',
    holds: 'runs here',
  }),
  'discovery.jwks': buildHiddenPathCase('discovery.jwks', /jwks/, {
    fails: 'cannot fetch the key set: it answers 404',
    holds: 'has our key',
  }),
  'discovery.handle_host': buildHiddenPathCase('discovery.handle_host', /\/webfinger/, {
    fails: 'answers 404 for acct:echo',
    holds: 'knows',
  }),
}

const removeHeader = (name: string) => (headers: object) => {
  const remainingHeaders = Object.entries(headers).filter(([field]) => field !== name)
  return Object.fromEntries(remainingHeaders)
}

export const channelCases: Cases = {
  'channels.inbox': {
    fails: {
      examine: () => askPublic('channels.inbox', { changeHeaders: removeHeader('digest') }),
      says: 'the gateway refuses its own test call: it answers 401',
    },
    holds: { examine: () => askPublic('channels.inbox'), says: 'refused the same call with a forged proof' },
  },
  'channels.calls': {
    fails: {
      examine: () => askPublic('channels.calls', { changeHeaders: removeHeader('authorization') }),
      says: 'it does not let us in (401)',
    },
    holds: { examine: () => askPublic('channels.calls'), says: 'refused the same call with a forged proof' },
  },
  'channels.chat_origins': {
    fails: {
      examine: () => askPublic('channels.chat_origins', { answerHeaders: { 'access-control-allow-origin': '*' } }),
      says: 'pages of any origin may call (*)',
    },
    holds: { examine: () => askPublic('channels.chat_origins'), says: `pages of ${pageOrigin} may call` },
  },
  'channels.chat_access': {
    fails: { examine: () => askPublic('channels.chat_access'), says: 'nobody may use it' },
    holds: { examine: () => askOpenChat(), says: 'that let people chat' },
  },
}

function askOpenChat() {
  const auth = { tokens: [{ name: 'ann', sha256: 'a'.repeat(64) }] }
  return examine('channels.chat_access', openDoctorBench({ settings: { web: { enabled: true, auth } } }))
}
