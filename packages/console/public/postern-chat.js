/**
 * `<postern-chat>`: a chat with an agent, for any page. One file, no library.
 *
 *   <script type="module" src="https://agents.example/postern-chat.js"></script>
 *   <postern-chat endpoint="https://agents.example/api/v1/agents/desk"></postern-chat>
 *
 * Attributes: `endpoint` (the agent's routes), `token` (a bearer token of the person), `thread` (id of the conversation; without it the element
 * makes one and keeps it in the page's session), `label`. Another `endpoint` or `thread` begins anew. Property `headers`: further headers of each request; property `getToken`: a function
 * that gives a fresh token. Parts to style: `log`, `message`, `own`, `form`, `input`, `button`. Event `postern-event`: each AG-UI event.
 * It speaks AG-UI 1.0 (https://docs.ag-ui.com): text, calls of tools, files, interrupts, and links of requirements.
 */

const style = `
:host { display: flex; flex-direction: column; min-height: 280px; font: 14px/1.5 system-ui, sans-serif; color-scheme: light dark;
  --chat-accent: light-dark(#2f5bd7, #8aa6f6); --chat-line: light-dark(#d8d7d3, #35393f); --chat-soft: light-dark(#f1f1ef, #24272b);
  --chat-quiet: light-dark(#5d5f64, #a3a6ac); --chat-bad: light-dark(#b4232a, #ff7a80);
  color: light-dark(#1d1e20, #e8e8e6); background: light-dark(#fff, #191b1e); border: 1px solid var(--chat-line); border-radius: 8px; overflow: hidden; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
button[hidden] { display: none; }
.log { flex: 1; overflow-y: auto; padding: 16px; display: flex; flex-direction: column; gap: 10px; min-height: 0; }
.message { max-width: 85%; padding: 8px 12px; border-radius: 12px; background: var(--chat-soft); white-space: pre-wrap; overflow-wrap: anywhere; align-self: start; }
.own { align-self: end; background: color-mix(in oklab, var(--chat-accent) 16%, transparent); }
.note { color: var(--chat-quiet); font-size: 12px; align-self: start; overflow-wrap: anywhere; max-width: 100%; }
.bad { color: var(--chat-bad); }
.ask { border: 1px solid var(--chat-line); border-radius: 10px; padding: 12px; display: grid; gap: 8px; }
.ask textarea { font: 12px/1.5 ui-monospace, monospace; width: 100%; flex: none; }
.ask pre { margin: 0; font-size: 12px; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--chat-quiet); }
.row { display: flex; gap: 8px; flex-wrap: wrap; align-items: center; }
form { display: flex; gap: 8px; padding: 10px; border-top: 1px solid var(--chat-line); align-items: end; flex-wrap: wrap; }
textarea { flex: 1 1 140px; font: inherit; color: inherit; background: transparent; border: 1px solid var(--chat-quiet); border-radius: 6px; padding: 7px 9px; resize: none; min-height: 38px; max-height: 160px; field-sizing: content; }
button, .file { font: inherit; min-height: 38px; padding: 0 14px; border-radius: 6px; border: 1px solid var(--chat-line); background: transparent; color: inherit; cursor: pointer; display: inline-flex; align-items: center; }
button.main { background: var(--chat-accent); color: light-dark(#fff, #10131a); border-color: transparent; }
button:disabled { opacity: .55; cursor: default; }
a { color: var(--chat-accent); }
:focus-visible, .file:focus-within { outline: 2px solid var(--chat-accent); outline-offset: 1px; }
.file input { position: absolute; width: 1px; height: 1px; opacity: 0; }
.chips { flex-basis: 100%; font-size: 12px; color: var(--chat-quiet); }
.chips:empty { display: none; }
`

/** @typedef {{ type: string, [member: string]: any }} ChatEvent */
/** @typedef {{ id: string, reason: string, message?: string, metadata?: any, responseSchema?: any, toolCallId?: string }} Interrupt */
/** @typedef {{ interruptId: string, status: 'resolved' | 'cancelled', payload?: unknown }} Resume */

/** @param {string} name @param {Record<string, string>} [attributes] @param {readonly (Node | string)[]} [children] */
function make(name, attributes = {}, children = []) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

const address = /https?:\/\/[^\s<>"')\]]{1,1000}/g

/** Text with its addresses as links; nothing else of it becomes markup. @param {string} text */
function linkify(text) {
  /** @type {(Node | string)[]} */
  const found = []
  let at = 0
  for (const match of text.matchAll(address)) {
    found.push(text.slice(at, match.index))
    found.push(make('a', { href: match[0], target: '_blank', rel: 'noopener noreferrer nofollow' }, [match[0]]))
    at = match.index + match[0].length
  }
  return [...found, text.slice(at)]
}

class PosternChat extends HTMLElement {
  /** Further headers of each request. @type {Record<string, string>} */
  headers = {}
  /** @type {(() => string | Promise<string>) | undefined} */
  #getToken = undefined

  #log = make('div', { class: 'log', part: 'log', role: 'log', 'aria-live': 'polite', tabindex: '0' })
  #chips = make('div', { class: 'chips', role: 'status' })
  #input = /** @type {HTMLTextAreaElement} */ (make('textarea', { part: 'input', rows: '1', 'aria-label': 'Message' }))
  #files = /** @type {HTMLInputElement} */ (make('input', { type: 'file', multiple: '', 'aria-label': 'Add files' }))
  #send = /** @type {HTMLButtonElement} */ (make('button', { class: 'main', part: 'button', type: 'submit' }, ['Send']))
  #stop = /** @type {HTMLButtonElement} */ (make('button', { type: 'button', hidden: '' }, ['Stop']))
  #form = make('form', { part: 'form' }, [
    this.#chips,
    make('label', { class: 'file', title: 'Add files' }, ['+', this.#files]),
    this.#input,
    this.#stop,
    this.#send,
  ])
  /** Messages that are being said, by their ids. @type {Map<string, { element: HTMLElement, text: string }>} */
  #open = new Map()
  /** Calls of tools, by their ids. @type {Map<string, { element: HTMLElement, name: string, args: string }>} */
  #calls = new Map()
  /** @type {Set<string>} */
  #shown = new Set()
  #run = ''

  constructor() {
    super()
    const root = this.attachShadow({ mode: 'open' })
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(style)
    root.adoptedStyleSheets = [sheet]
    root.append(this.#log, this.#form)
    this.#form.addEventListener('submit', event => {
      event.preventDefault()
      void this.say(this.#input.value)
    })
    this.#input.addEventListener('keydown', event => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      void this.say(this.#input.value)
    })
    this.#files.addEventListener('change', () => {
      this.#chips.textContent = [...(this.#files.files ?? [])].map(({ name }) => name).join(', ')
    })
    this.#stop.addEventListener(
      'click',
      () => void this.#call(`/runs/${encodeURIComponent(this.#run)}/cancel`, { method: 'POST' }).catch(() => undefined),
    )
  }

  static observedAttributes = ['endpoint', 'thread', 'token']

  #isBegun = false

  connectedCallback() {
    this.#isBegun = true
    const label = this.getAttribute('label')
    this.#log.setAttribute('aria-label', label ?? 'Conversation')
    this.#input.placeholder = label ?? 'Write a message'
    void this.#showHistory()
  }

  /** @param {string} name @param {string | null} before @param {string | null} value */
  attributeChangedCallback(name, before, value) {
    if (!this.#isBegun || before === value) return
    if (name !== 'token') {
      this.#shown.clear()
      this.#open.clear()
      this.#calls.clear()
      this.#log.replaceChildren()
    }
    void this.#showHistory()
  }

  /** Gives the person's token when the attribute does not; a page may set it when the element is there already. */
  get getToken() {
    return this.#getToken
  }

  set getToken(give) {
    this.#getToken = give
    if (this.#isBegun) void this.#showHistory()
  }

  /** The conversation: the attribute, or one for this page and this visit. */
  get thread() {
    const given = this.getAttribute('thread')
    if (given) return given
    const key = `postern-chat ${this.endpoint}`
    const kept = sessionStorage.getItem(key) ?? crypto.randomUUID()
    sessionStorage.setItem(key, kept)
    return kept
  }

  get endpoint() {
    return (this.getAttribute('endpoint') ?? '').replace(/\/+$/, '')
  }

  /** Says something, with the files that were chosen. @param {string} text */
  async say(text) {
    const files = [...(this.#files.files ?? [])]
    if ((text.trim() === '' && files.length === 0) || this.#send.disabled) return
    this.#input.value = ''
    this.#files.value = ''
    this.#chips.textContent = ''
    const id = crypto.randomUUID()
    this.#shown.add(id)
    this.#write([text, ...files.map(({ name }) => `[${name}]`)].filter(Boolean).join('\n'), true)
    this.#setBusy(true)
    try {
      const run = crypto.randomUUID()
      const parts = []
      for (const file of files) parts.push(await this.#upload(file, run))
      const content = parts.length === 0 ? text : [...(text === '' ? [] : [{ type: 'text', text }]), ...parts]
      await this.#start({ runId: run, messages: [{ id, role: 'user', content }] })
    } catch (error) {
      this.#note(error instanceof Error ? error.message : String(error), 'bad')
    }
    this.#setBusy(false)
    this.#input.focus()
  }

  /** Answers what the agent asked for. @param {Resume} resume */
  async #decide(resume) {
    this.#setBusy(true)
    try {
      await this.#start({ runId: crypto.randomUUID(), messages: [], resume: [resume] })
    } catch (error) {
      this.#note(error instanceof Error ? error.message : String(error), 'bad')
    }
    this.#setBusy(false)
  }

  /** @param {{ runId: string, messages: readonly object[], resume?: readonly Resume[] }} input */
  async #start(input) {
    this.#run = input.runId
    const body = {
      threadId: this.thread,
      protocolVersion: '1.0',
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
      ...input,
    }
    const answer = await this.#call('/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    for await (const event of readEvents(answer)) this.#take(event)
  }

  /** @param {ChatEvent} event */
  #take(event) {
    this.dispatchEvent(new CustomEvent('postern-event', { detail: event }))
    const act = Object.hasOwn(this.#acts, event?.type) ? this.#acts[event.type] : undefined
    act?.(event)
    this.#log.scrollTop = this.#log.scrollHeight
  }

  /** What each kind of event does. @type {Record<string, (event: ChatEvent) => void>} */
  #acts = {
    TEXT_MESSAGE_START: ({ messageId }) => {
      this.#shown.add(messageId)
      this.#open.set(messageId, { element: this.#write('', false), text: '' })
    },
    TEXT_MESSAGE_CONTENT: ({ messageId, delta }) => {
      const open = this.#open.get(messageId)
      if (!open) return
      open.text += asText(delta)
      open.element.textContent = open.text
    },
    TEXT_MESSAGE_END: ({ messageId }) => {
      const open = this.#open.get(messageId)
      open?.element.replaceChildren(...linkify(open.text))
      this.#open.delete(messageId)
    },
    TOOL_CALL_START: ({ toolCallId, toolCallName }) => {
      this.#calls.set(toolCallId, {
        element: this.#note(`calls ${asText(toolCallName)}`),
        name: asText(toolCallName),
        args: '',
      })
    },
    TOOL_CALL_ARGS: ({ toolCallId, delta }) => {
      const call = this.#calls.get(toolCallId)
      if (call) call.args += asText(delta)
    },
    TOOL_CALL_RESULT: ({ toolCallId }) => {
      const call = this.#calls.get(toolCallId)
      if (call) call.element.textContent = `called ${call.name}`
    },
    CUSTOM: ({ name, value }) => {
      if (name === 'working') this.#note(typeof value === 'string' ? value : JSON.stringify(value))
    },
    RUN_ERROR: ({ message }) => {
      this.#note(asText(message) || 'The agent could not answer.', 'bad')
    },
    RUN_FINISHED: ({ outcome }) => {
      for (const interrupt of listOf(outcome?.interrupts)) this.#ask(interrupt)
    },
    MESSAGES_SNAPSHOT: ({ messages }) => {
      for (const message of listOf(messages)) this.#show(message)
    },
  }

  /** @param {Interrupt} interrupt */
  #ask(interrupt) {
    const { id, reason, responseSchema } = interrupt
    // A question in words is answered in words.
    if (reason === 'input_required' || this.#shown.has(`ask ${id}`)) return
    this.#shown.add(`ask ${id}`)
    const title = asText(interrupt.metadata?.title) || (reason === 'tool_call' ? 'Allow this?' : 'The agent asks')
    const box = make('div', { class: 'ask', role: 'group', 'aria-label': title })
    box.append(make('strong', {}, [title]), make('div', {}, linkify(asText(interrupt.message))))
    const call = this.#nameCall(interrupt)
    if (call) box.append(make('pre', {}, [call]))
    if (responseSchema) box.append(...this.#choices(interrupt, box))
    else box.append(this.#linkTo(interrupt, box))
    this.#log.append(box)
  }

  /** The call that is asked about; its arguments stand beside it where they may be changed. @param {Interrupt} interrupt */
  #nameCall({ metadata, responseSchema, toolCallId }) {
    const call = toolCallId === undefined ? undefined : this.#calls.get(toolCallId)
    const name = asText(metadata?.tool)
    if (responseSchema?.properties?.editedArgs !== undefined) return name
    if (call) return `${call.name} ${call.args}`
    return name && `${name} ${JSON.stringify(metadata.arguments ?? {})}`
  }

  /** What is decided elsewhere. @param {Interrupt} interrupt @param {HTMLElement} box */
  #linkTo({ id, reason, metadata }, box) {
    const url = metadata?.url
    if (!isAddress(url))
      return make('div', { class: 'note' }, [reason === 'postern:operator' ? 'An operator decides this.' : ''])
    const attributes = { href: url, target: '_blank', rel: 'noopener noreferrer' }
    const again = make('button', { type: 'button' }, ['I have decided'])
    again.addEventListener('click', () => {
      box.remove()
      this.#shown.delete(`ask ${id}`)
      void this.#decideNothing()
    })
    return make('div', { class: 'row' }, [make('a', attributes, ['Open the page to decide']), again])
  }

  /** A run without news tells what is still open. */
  async #decideNothing() {
    this.#setBusy(true)
    await this.#start({ runId: crypto.randomUUID(), messages: [] }).catch(error => this.#note(error.message, 'bad'))
    this.#setBusy(false)
  }

  /** What may be answered: yes or no, for how long, and for an operator with other arguments. @param {Interrupt} interrupt @param {HTMLElement} box */
  #choices({ id, responseSchema, metadata }, box) {
    const given = JSON.stringify(metadata?.arguments ?? {}, null, 2)
    const edit = /** @type {HTMLTextAreaElement} */ (
      make('textarea', { 'aria-label': 'Arguments, which you may change', rows: '4' })
    )
    edit.value = given
    const problem = make('div', { class: 'note bad', role: 'alert' })
    const isEditable = responseSchema?.properties?.editedArgs !== undefined
    const offered = responseSchema?.properties?.remember?.enum
    const reaches = Array.isArray(offered) ? offered.map(asText) : []
    const reach = make(
      'select',
      { 'aria-label': 'How long this counts' },
      reaches.map(each => make('option', { value: each }, [each])),
    )
    /** @param {boolean} approved */
    const decide = approved => {
      const remember = /** @type {HTMLSelectElement} */ (reach).value
      const isEdited = approved && isEditable && edit.value !== given
      const editedArgs = isEdited ? readJson(edit.value) : undefined
      if (isEdited && editedArgs === undefined) {
        problem.textContent = 'These arguments are no JSON.'
        return
      }
      box.remove()
      this.#note(approved ? 'You allowed it.' : 'You declined it.')
      void this.#decide({
        interruptId: id,
        status: 'resolved',
        payload: { approved, ...(isEdited && { editedArgs }), ...(remember && remember !== 'once' && { remember }) },
      })
    }
    const yes = make('button', { type: 'button', class: 'main' }, ['Allow'])
    const no = make('button', { type: 'button' }, ['Decline'])
    yes.addEventListener('click', () => decide(true))
    no.addEventListener('click', () => decide(false))
    const row = make('div', { class: 'row' }, [yes, no, ...(reaches.length > 0 ? [reach] : [])])
    return isEditable ? [edit, problem, row] : [row]
  }

  /** What was said before. A page without it still works. */
  async #showHistory() {
    if (this.endpoint === '') return
    const path = `/history?${new URLSearchParams({ threadId: this.thread })}`
    const place = `${this.endpoint} ${this.thread}`
    const answer = await this.#call(path).catch(() => undefined)
    const { messages = [] } = (await answer?.json().catch(() => undefined)) ?? {}
    // Meanwhile the element may show another conversation.
    if (place !== `${this.endpoint} ${this.thread}`) return
    for (const message of listOf(messages)) this.#show(message)
    this.#log.scrollTop = this.#log.scrollHeight
  }

  /** @param {{ id: string, role: string, content: unknown }} message */
  #show({ id, role, content }) {
    const text = typeof content === 'string' ? content : ''
    if (this.#shown.has(id) || text === '' || !/^(user|assistant)$/.test(role)) return
    this.#shown.add(id)
    this.#write(text, role === 'user')
  }

  /** @param {File} file @param {string} run */
  async #upload(file, run) {
    const form = new FormData()
    form.set('threadId', this.thread)
    form.set('runId', run)
    form.set('file', file)
    // Attachments are of the person, not of one agent.
    const answer = await this.#call('/attachments', { method: 'POST', body: form })
    const { url, mime_type } = await answer.json()
    return { type: 'binary', mimeType: mime_type, url, filename: file.name }
  }

  /** @param {string} path @param {RequestInit} [init] */
  async #call(path, init = {}) {
    if (!/^https?:$/.test(URL.parse(this.endpoint, location.href)?.protocol ?? ''))
      throw new Error('The endpoint of this chat is no address of an agent.')
    const token = (await this.#getToken?.()) ?? this.getAttribute('token')
    const headers = { ...this.headers, ...init.headers, ...(token && { authorization: `Bearer ${token}` }) }
    const isOwn = new URL(this.endpoint, location.href).origin === location.origin
    const target = path.startsWith('/attachments') ? attachmentsOf(this.endpoint) : this.endpoint
    const answer = await fetch(`${target}${path}`, {
      ...init,
      headers,
      credentials: isOwn && !token ? 'same-origin' : 'omit',
    })
    if (answer.ok) return answer
    const { detail } = await answer.json().catch(() => ({ detail: undefined }))
    throw new Error(asText(detail) || `The chat cannot be reached (${answer.status}).`)
  }

  /** @param {string} text @param {boolean} isOwn */
  #write(text, isOwn) {
    const part = isOwn ? 'message own' : 'message'
    const element = make('div', { class: part, part }, linkify(text))
    this.#log.append(element)
    this.#log.scrollTop = this.#log.scrollHeight
    return element
  }

  /** @param {string} text @param {string} [kind] */
  #note(text, kind = '') {
    const element = make('div', { class: `note ${kind}` }, [text])
    this.#log.append(element)
    return element
  }

  /** @param {boolean} isBusy */
  #setBusy(isBusy) {
    this.#send.disabled = isBusy
    this.#stop.hidden = !isBusy
    this.#log.setAttribute('aria-busy', String(isBusy))
  }
}

/** @param {string} endpoint */
function attachmentsOf(endpoint) {
  return endpoint.replace(/\/agents\/[^/]+$/, '/agent')
}

/** @param {unknown} value what somebody else wrote */
function asText(value) {
  return typeof value === 'string' ? value : ''
}

/** The objects of a list. @param {unknown} value @returns {any[]} */
function listOf(value) {
  return Array.isArray(value) ? value.filter(each => typeof each === 'object' && each !== null) : []
}

/** @param {string} text */
function readJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @param {unknown} url */
function isAddress(url) {
  return typeof url === 'string' && /^https?:\/\//.test(url)
}

/** Server-sent events of an answer (HTML standard, 9.2.6), each with JSON. @param {Response} answer @returns {AsyncGenerator<ChatEvent>} */
async function* readEvents(answer) {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    const blocks = (rest + piece.value).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.split(/\r?\n/).flatMap(line => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
      if (data.length > 0) yield JSON.parse(data.join('\n'))
    }
  }
}

if (!customElements.get('postern-chat')) customElements.define('postern-chat', PosternChat)
