// Renders the pages of the chat room as HTML.
import { isoTime } from '@postern/message'
import { html } from 'hono/html'
import type { RequirementView } from '../rooms/requirements.ts'
import type { Room, RoomEntry } from '../rooms/rooms.ts'
import type { RoomPerson } from '../rooms/session.ts'

/** A text that is already escaped. */
export type Markup = ReturnType<typeof html>

/** The policy of the pages: nothing inline, nothing from other hosts, and no frames. */
export const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  // With `no-referrer`, browsers would hide the origin of our own forms, too.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
} as const

/** The person who looks at a page, and the token that their forms must contain. */
export interface Viewer {
  readonly person: RoomPerson
  readonly formToken: string
}

interface Shell {
  readonly title: string
  readonly script?: string | undefined
}

function renderPage({ title, script }: Shell, body: Markup): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="/static/chat.css">
${script ? html`<script src="${script}" defer></script>` : ''}
</head>
<body>
${body}
</body>
</html>`
}

export function renderLogin(name: string): Markup {
  return renderPage(
    { title: name },
    html`<h1>${name}</h1>
<form method="post" action="/login">
<label>What shall we call you? <input name="name" required maxlength="32" autocomplete="nickname" autofocus></label>
<button>Come in</button>
</form>`,
  )
}

export function renderLobby(name: string, rooms: readonly Room[], viewer: Viewer): Markup {
  return renderPage(
    { title: name },
    html`<h1>${name}</h1>
${renderHead(viewer)}
<ul>${rooms.map(room => html`<li><a href="/rooms/${room.name}">${room.name}</a> (${room.people.size})</li>`)}</ul>
<form method="post" action="/rooms">${renderTokenField(viewer)}
<label>Room <input name="name" required maxlength="32" pattern="[a-z0-9]([a-z0-9\\-]*[a-z0-9])?"></label>
<button>Enter</button>
</form>`,
  )
}

interface RoomView {
  readonly room: Room
  readonly entries: readonly RoomEntry[]
  readonly revision: number
  readonly viewer: Viewer
  readonly maxChars: number
}

export function renderRoom({ room, entries, revision, viewer, maxChars }: RoomView): Markup {
  const roomPath = `/rooms/${room.name}`
  return renderPage(
    { title: room.name, script: '/static/room.js' },
    html`<h1>${room.name}</h1>
${renderHead(viewer)}
<p>Here: ${[...room.people.values()].map(({ name }) => html`<bdi>${name}</bdi> `)}</p>
<ol id="entries" data-events="${roomPath}/events?after=${revision}">${entries.map(entry => renderEntry(entry, roomPath, viewer))}</ol>
<form method="post" action="${roomPath}/messages" id="say">${renderTokenField(viewer)}
<textarea name="text" required maxlength="${maxChars}" rows="3" aria-label="Message" placeholder="@agent@domain …"></textarea>
<button>Say it</button>
</form>
<p><a href="${roomPath}">Look what is new</a> · <a href="/">Other rooms</a></p>`,
  )
}

function renderHead({ person, formToken }: Viewer): Markup {
  return html`<form method="post" action="/logout">${renderTokenField({ formToken })}You are <bdi>${person.name}</bdi>. <button class="quiet">Leave</button></form>`
}

function renderTokenField({ formToken }: Pick<Viewer, 'formToken'>): Markup {
  return html`<input type="hidden" name="csrf" value="${formToken}">`
}

const stateWords: Readonly<Record<RoomEntry['state'], string>> = { said: '', working: '…', failed: '' }

/** Renders one entry in the form that this viewer may see. */
export function renderEntry(entry: RoomEntry, here: string, viewer: Viewer): Markup {
  const { id, author, at, text, state, problem, requirements } = entry
  const name = author.kind === 'agent' ? author.address : author.name
  const time = isoTime(at)
  return html`<li id="e-${id}" class="${author.kind} ${state}"><p class="by"><bdi>${name}</bdi>${author.kind === 'agent' ? html` <small>agent</small>` : ''} <time datetime="${time}">${time.slice(11, 16)}</time></p>
<p class="text" dir="auto">${text}${stateWords[state]}</p>
${problem ? html`<p class="problem">${problem}</p>` : ''}
${requirements.map(requirement => renderRequirement(requirement, here, viewer))}</li>`
}

const endings: Readonly<Record<RequirementView['status'], string>> = {
  open: '',
  told: '',
  sent: 'Being told …',
  granted: 'Agreed.',
  declined: 'Not agreed.',
  over: 'This is over.',
}

function renderRequirement(requirement: RequirementView, here: string, viewer: Viewer): Markup {
  const { kind, title, message, price, retryAfterSeconds, status } = requirement
  return html`<div class="requirement" data-kind="${kind}"><blockquote dir="auto">${title ? html`<strong>${title}</strong> ` : ''}${message}</blockquote>
${price ? html`<p><strong>${price}</strong></p>` : ''}
${retryAfterSeconds === undefined ? '' : html`<p>Try again in ${retryAfterSeconds} seconds.</p>`}
${status === 'open' ? renderChoice(requirement, here, viewer) : html`<p>${endings[status]}</p>`}</div>`
}

/** Renders buttons and links for the person who is asked; the others see who that is. */
function renderChoice(requirement: RequirementView, here: string, viewer: Viewer): Markup {
  const { decider, token, url, actionLabel, kind } = requirement
  if (decider?.id !== viewer.person.id) return html`<p>Asked of <bdi>${decider?.name ?? 'nobody here'}</bdi>.</p>`
  const isConsent = kind === 'consent_required'
  const link =
    !isConsent && url
      ? html`<p><a class="button" href="${url}" rel="noreferrer" target="_blank">${actionLabel ?? 'Go on'}</a></p>`
      : ''
  if (token === undefined) return html`${link}`
  return html`${link}<form method="post" action="${here}/decisions">${renderTokenField(viewer)}<input type="hidden" name="requirement" value="${token}">
${isConsent ? html`<button name="decision" value="grant">${actionLabel ?? 'I agree'}</button>` : ''}
<button name="decision" value="decline" class="quiet">No</button></form>`
}

export function renderProblem(problemText: string): Markup {
  return renderPage(
    { title: 'That did not work' },
    html`<h1>That did not work</h1><p>${problemText}.</p><p><a href="/">Back</a></p>`,
  )
}
