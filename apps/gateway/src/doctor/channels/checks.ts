import type { Check } from '../check.ts'
import { checkChatAccess, checkChatOrigins } from './chat.ts'
import { checkRehearsal } from './rehearsal.ts'

const group = 'channels'
const timeoutMs = 20_000

/** Whether each way in takes what is proven, and refuses what is not. That by mail is `mail.loop`. */
export const channelChecks: readonly Check[] = [
  {
    id: 'channels.inbox',
    group,
    what: 'An activity of an agent of ours reaches its inbox by the public address, and the gateway refuses a forged one. It has no effect.',
    fix: 'Let the proxy pass body, `Signature`, `Digest`, `Date` and `Host` on as they are.',
    needs: ['gateway', 'peers'],
    timeoutMs,
    run: deps => checkRehearsal(deps, 'activitypub'),
  },
  {
    id: 'channels.calls',
    group,
    what: 'A call (`GetTask`) with our token gets an answer at the public address, and a forged one does not. It has no effect.',
    fix: 'Let the proxy pass body and `Authorization` on as they are.',
    needs: ['gateway', 'peers'],
    timeoutMs,
    run: deps => checkRehearsal(deps, 'a2a'),
  },
  {
    id: 'channels.chat_origins',
    group,
    what: 'Pages of `web.origins` may call the chat (CORS), and pages of other origins may not.',
    fix: 'Let the proxy leave `Access-Control-…` fields to the gateway.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkChatOrigins,
  },
  {
    id: 'channels.chat_access',
    group,
    what: 'Where the chat is on, there are issuers or tokens that let people in.',
    fix: 'Name issuers or tokens in `web.auth`, or set `web.enabled` to false.',
    needs: [],
    run: checkChatAccess,
  },
]
