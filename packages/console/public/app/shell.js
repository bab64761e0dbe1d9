// Renders the frame of the console: navigation, status, keyboard shortcuts, and the screen that the address names.
import { useEffect } from '../vendor/hooks.js'
import { signal } from '../vendor/signals.js'
import { ApiError } from './lib/api.js'
import { formatLongDuration } from './lib/format.js'
import { html } from './lib/html.js'
import { useKeys } from './lib/keys.js'
import { connection } from './lib/live.js'
import { useAnswer } from './lib/load.js'
import { linkTo, navigateTo, route } from './lib/router.js'
import { signOut } from './lib/session.js'
import { switchTheme } from './lib/theme.js'
import { Dialog } from './parts/dialog.js'
import { attempt } from './parts/toast.js'
import { Agents } from './screens/agents.js'
import { Compose } from './screens/compose.js'
import { Deliveries } from './screens/deliveries.js'
import { Flow } from './screens/flow.js'
import { GoLive } from './screens/go-live.js'
import { LookUp } from './screens/look-up.js'
import { Message } from './screens/message.js'
import { People } from './screens/people.js'
import { Refusal } from './screens/refusal.js'
import { Settings } from './screens/settings.js'
import { Waiting } from './screens/waiting.js'

/** @type {readonly { name: string, title: string, view: any, isDev?: true }[]} */
const screens = [
  { name: 'flow', title: 'Flow', view: Flow },
  { name: 'compose', title: 'Compose', view: Compose, isDev: true },
  { name: 'waiting', title: 'Waiting', view: Waiting },
  { name: 'people', title: 'People', view: People },
  { name: 'deliveries', title: 'Deliveries', view: Deliveries },
  { name: 'agents', title: 'Agents', view: Agents },
  { name: 'go-live', title: 'Go live', view: GoLive },
  { name: 'look-up', title: 'Look up', view: LookUp },
  { name: 'settings', title: 'Settings', view: Settings },
]

const isHelpOpen = signal(false)

/** Keys that open a screen, after `g`. @type {Record<string, string>} */
const jumps = {
  f: 'flow',
  c: 'compose',
  w: 'waiting',
  p: 'people',
  d: 'deliveries',
  a: 'agents',
  l: 'go-live',
  s: 'settings',
}
let isJumping = false

/**
 * The times between two polls for waiting decisions, ms: while the event stream is lost, and while it is live. Polling goes on while it is
 * live, because no event reports a question to a human.
 */
const [askAgainMs, lookMs] = [3_000, 5_000]

export function Shell() {
  const { screen, subject } = route.value
  const {
    answer: status,
    error,
    refresh,
  } = useAnswer('/operator/api/status', ['message', 'turn', 'delivery', 'requirement'])
  const isLost = connection.value === 'lost'
  useEffect(() => {
    // No event reports that the gateway has stopped.
    if (isLost) refresh()
    const timer = setInterval(refresh, isLost ? askAgainMs : lookMs)
    return () => clearInterval(timer)
  }, [isLost])
  const shown = screens.filter(({ isDev }) => !isDev || (status?.dev ?? true))
  const current = screens.find(({ name }) => name === screen)
  const title = isOne(screen)
    ? `${screen === 'message' ? '#' : 'Refused '}${subject}`
    : (current?.title ?? 'Nothing here')
  useEffect(() => {
    document.title = `${title} · Postern`
    // On a phone the screens stand in one line, which is wider than the page.
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [title])
  useKeys({
    '?': () => {
      isHelpOpen.value = true
    },
    '/': () => document.getElementById('search')?.focus(),
    c: () => (isJumping ? jump('c') : navigateTo(linkTo('compose'))),
    g: () => {
      isJumping = true
      setTimeout(() => {
        isJumping = false
      }, 1_000)
    },
    ...Object.fromEntries(
      Object.keys(jumps)
        .filter(key => key !== 'c')
        .map(key => [key, () => jump(key)]),
    ),
  })
  return html`<div class="app">
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <nav aria-label="Screens">
      <div class="brand"><i></i><span>Postern</span></div>
      ${shown.map(
        ({ name, title: words }) =>
          html`<a
            key=${name}
            href=${linkTo(name)}
            aria-current=${name === screen || (isOne(screen) && name === 'flow') ? 'page' : undefined}
          >
            ${words}<${Count} name=${name} status=${status} />
          </a>`,
      )}
      <${Foot} status=${status} error=${error} />
    </nav>
    <main id="main" tabindex="-1">
      ${
        screen === 'message'
          ? html`<${Message} key=${subject} id=${subject} />`
          : screen === 'refusal'
            ? html`<${Refusal} key=${subject} id=${subject} />`
            : current
              ? html`<${current.view} status=${status} />`
              : html`<div class="empty"><h1>There is no such screen</h1><a class="link" href=${linkTo('flow')}>Go to Flow</a></div>`
      }
    </main>
    ${isHelpOpen.value && html`<${Help} />`}
  </div>`
}

/** Returns true if a screen shows one row of Flow. @param {string} screen */
const isOne = screen => screen === 'message' || screen === 'refusal'

/** @param {string} key */
function jump(key) {
  if (!isJumping) return
  isJumping = false
  navigateTo(linkTo(jumps[key] ?? 'flow'))
}

/** Moves the focus to the content, because the fragment of the address names the screen. @param {Event} event */
function skip(event) {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

/** @param {{ name: string, status: any }} props */
function Count({ name, status }) {
  if (!status) return null
  const { waiting = 0, deliveries = {}, agents = 0 } = status
  if (name === 'waiting' && waiting > 0) return html`<span class="count hot">${waiting}</span>`
  if (name === 'deliveries' && deliveries.dead > 0) return html`<span class="count bad">${deliveries.dead} dead</span>`
  if (name === 'agents') return html`<span class="count">${agents}</span>`
  return null
}

/** @param {{ status: any, error: Error | undefined }} props */
function Foot({ status, error }) {
  return html`<div class="foot">
    ${error && html`<span role="status" title=${error.message}><span class="bad"><span class="dot"></span></span> ${error instanceof ApiError && error.status > 0 ? `answers ${error.status}` : 'does not answer'}</span>`}
    ${
      status &&
      !error &&
      html`<span><span class="good"><span class="dot"></span></span> ready · ${status.domain}</span>
        <span>${status.version} · ${status.store} · up ${formatLongDuration(status.uptime_ms)}</span>`
    }
    <button type="button" onClick=${switchTheme}>Light or dark</button>
    <button type="button" onClick=${() => attempt(signOut)}>Sign out</button>
  </div>`
}

/** @type {readonly (readonly [string, string])[]} */
const keys = [
  ['j  k', 'next and previous row'],
  ['enter', 'open the row'],
  ['u', 'back to Flow'],
  ['/', 'filter'],
  ['space', 'hold and resume live rows'],
  ['r', 'replay the message'],
  ['c', 'compose'],
  ['g then f w p d a l s', 'go to Flow, Waiting, People, Deliveries, Agents, Go live, Settings'],
  ['esc', 'leave a field, close a dialog'],
]

function Help() {
  const close = () => {
    isHelpOpen.value = false
  }
  return html`<${Dialog} title="Keys" close=${close}>
    <div>
      <h1>Keys</h1>
      <dl class="facts">
        ${keys.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}
      </dl>
      <div class="ends"><button class="btn" type="button" onClick=${close}>Close</button></div>
    </div>
  <//>`
}
