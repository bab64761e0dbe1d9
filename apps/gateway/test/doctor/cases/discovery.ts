// Lists a failing and a passing installation behind a proxy for each doctor check of discovery and channels.
import { openDoctorBench } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { checkPublicGateway, pageOrigin } from '../setup/public-gateway.ts'

/** Builds a failing case behind a proxy that hides some paths, and a passing one behind a proxy that forwards all. */
const buildHiddenPathCase = (
  id: string,
  hiddenPaths: RegExp,
  expectedDetails: { readonly failing: string | RegExp; readonly passing: string },
) => ({
  failingCase: { runCheck: () => checkPublicGateway(id, { hiddenPaths }), expectedDetail: expectedDetails.failing },
  passingCase: { runCheck: () => checkPublicGateway(id), expectedDetail: expectedDetails.passing },
})

export const discoveryCases: Cases = {
  'discovery.webfinger': buildHiddenPathCase('discovery.webfinger', /\/webfinger/, {
    failing: 'answers 404',
    passing: 'as peers expect',
  }),
  'discovery.actor': buildHiddenPathCase('discovery.actor', /^\/agents\/echo$/, {
    failing: 'answers 404',
    passing: 'as peers expect',
  }),
  'discovery.agent_card': buildHiddenPathCase('discovery.agent_card', /^\/\.well-known\/agent-card\/echo/, {
    failing: 'answers 404',
    passing: 'as peers expect',
  }),
  'discovery.calls': buildHiddenPathCase('discovery.calls', /^\/\.well-known\/jwks/, {
    failing: /sign|key/,
    passing: 'as peers expect',
  }),
  'discovery.pages': buildHiddenPathCase('discovery.pages', /mentionable-agents/, {
    failing: 'no directory',
    passing: 'as peers expect',
  }),
  'discovery.host_meta': buildHiddenPathCase('discovery.host_meta', /host-meta/, {
    failing: 'cannot fetch host-meta: 404',
    passing: 'where WebFinger is',
  }),
  'discovery.nodeinfo': buildHiddenPathCase('discovery.nodeinfo', /nodeinfo\/2/, {
    failing: 'it answers 404',
    passing: 'runs here',
  }),
  'discovery.jwks': buildHiddenPathCase('discovery.jwks', /jwks/, {
    failing: 'cannot fetch the key set: it answers 404',
    passing: 'has our key',
  }),
  'discovery.handle_host': buildHiddenPathCase('discovery.handle_host', /\/webfinger/, {
    failing: 'answers 404 for acct:echo',
    passing: 'knows',
  }),
}

const removeHeader = (name: string) => (headers: object) => {
  const remainingHeaders = Object.entries(headers).filter(([field]) => field !== name)
  return Object.fromEntries(remainingHeaders)
}

export const channelCases: Cases = {
  'channels.inbox': {
    failingCase: {
      runCheck: () => checkPublicGateway('channels.inbox', { changeHeaders: removeHeader('digest') }),
      expectedDetail: 'the gateway refuses its own test call: it answers 401',
    },
    passingCase: {
      runCheck: () => checkPublicGateway('channels.inbox'),
      expectedDetail: 'refused the same call with a forged proof',
    },
  },
  'channels.calls': {
    failingCase: {
      runCheck: () => checkPublicGateway('channels.calls', { changeHeaders: removeHeader('authorization') }),
      expectedDetail: 'it does not let us in (401)',
    },
    passingCase: {
      runCheck: () => checkPublicGateway('channels.calls'),
      expectedDetail: 'refused the same call with a forged proof',
    },
  },
  'channels.chat_origins': {
    failingCase: {
      runCheck: () =>
        checkPublicGateway('channels.chat_origins', { answerHeaders: { 'access-control-allow-origin': '*' } }),
      expectedDetail: 'pages of any origin may call (*)',
    },
    passingCase: {
      runCheck: () => checkPublicGateway('channels.chat_origins'),
      expectedDetail: `pages of ${pageOrigin} may call`,
    },
  },
  'channels.chat_access': {
    failingCase: { runCheck: () => checkPublicGateway('channels.chat_access'), expectedDetail: 'nobody may use it' },
    passingCase: { runCheck: () => checkGatewayWithChat(), expectedDetail: 'that let people chat' },
  },
}

function checkGatewayWithChat() {
  const auth = { tokens: [{ name: 'ann', sha256: 'a'.repeat(64) }] }
  return examine('channels.chat_access', openDoctorBench({ settings: { web: { enabled: true, auth } } }))
}
