// Shows one message from its bytes to its deliveries.
import { useSignal } from '../../vendor/signals.js'
import { formatPreciseClock } from '../lib/format.js'
import { html } from '../lib/html.js'
import { useKeys } from '../lib/keys.js'
import { useAnswer } from '../lib/load.js'
import { linkTo, navigateTo } from '../lib/router.js'
import { Badge, Channel, Proven } from '../parts/badges.js'
import { Empty, Loading, Problem } from '../parts/empty.js'
import { Actions } from './message/actions.js'
import { Panes } from './message/panes.js'
import { Replay } from './message/replay.js'
import { Waterfall } from './message/waterfall.js'
import { Why } from './message/why.js'

const topics = ['message', 'turn', 'delivery', 'requirement']

/** Shows one message, from its bytes to its deliveries. @param {{ id: string }} props */
export function Message({ id }) {
  const path = encodeURIComponent(id)
  const { answer: record, error, refresh } = useAnswer(`/operator/api/messages/${path}`, topics)
  const { answer: why } = useAnswer(`/operator/api/why/${path}`, topics)
  const isReplaying = useSignal(false)
  const replay = () => {
    isReplaying.value = true
  }
  useKeys({ r: replay, u: () => navigateTo(linkTo('flow')) })
  return html`
    <header class="bar">
      <a class="muted" href=${linkTo('flow')}>Flow /</a>
      <h1>#${record?.number ?? id}</h1>
      ${record && html`<${Title} record=${record} />`}
    </header>
    <div class="scroll">
      ${
        record
          ? html`<${Why} record=${record} why=${why?.explanations?.[0]}>
                <${Actions} record=${record} replay=${replay} refresh=${refresh} />
              <//>
              <${Waterfall} record=${record} />
              <${Panes} record=${record} />`
          : error
            ? html`<${Empty} title="This message cannot be shown"><${Problem} error=${error} /><//>`
            : html`<${Loading} />`
      }
    </div>
    ${isReplaying.value && record && html`<${Replay} record=${record} close=${() => (isReplaying.value = false)} />`}
  `
}

/** @param {{ record: any }} props */
function Title({ record }) {
  const { message, thread, correlation_id, flags } = record
  const { sender } = message
  return html`
    <${Channel} name=${message.received_via} />
    <span class="cut"
      ><a class="cut" href=${linkTo('people', { subject: sender.address })}>${sender.address}</a> → ${message.recipient.split('@')[1]}</span
    >
    <${Proven} verified=${sender.verified} long=${true} />
    ${flags.map((/** @type {string} */ flag) => html`<${Badge} key=${flag}>${flag.replaceAll('_', ' ')}<//>`)}
    <span class="grow"></span>
    <span class="muted cut">
      ${formatPreciseClock(message.received_at)} · thread ${thread} · <span class="mono">${correlation_id}</span>
    </span>
  `
}
