/**
 * Defines `<postern-chat>`, a chat with an agent for any page. It loads its other files from the folder `postern-chat` next to it.
 *
 *   <script type="module" src="https://agents.example/postern-chat.js"></script>
 *   <postern-chat endpoint="https://agents.example/api/v1/agents/desk"></postern-chat>
 *
 * Attributes; a new `endpoint` or `thread` starts over:
 * - `endpoint`: the address of the agent's routes
 * - `token`: a bearer token of the person
 * - `thread`: the id of the conversation; without it, the element creates one and keeps it in the page's session
 * - `label`: the name of the chat
 *
 * Properties: `headers`, further headers for each request; `getToken`, a function that returns a current token.
 * Parts to style: `log`, `message`, `own`, `form`, `input`, `button`. Event `postern-event`: each AG-UI event.
 * The element supports AG-UI 1.0 (https://docs.ag-ui.com): text, tool calls, files, interrupts, and links of requirements.
 */
import { linkify, make } from './postern-chat/elements.js'
import { listOf, readEvents, readText } from './postern-chat/events.js'
import { MarkdownText } from './postern-chat/markdown.js'
import { makeQuestion } from './postern-chat/question.js'
import { isEnd, isForGood, isStream, readRun, sleep } from './postern-chat/streams.js'
import { style } from './postern-chat/style.js'

/** @typedef {import('./postern-chat/events.js').ChatEvent} ChatEvent */
/** @typedef {import('./postern-chat/question.js').Interrupt} Interrupt */
/** @typedef {import('./postern-chat/question.js').Resume} Resume */

class PosternChat extends HTMLElement {
  /** Further headers for each request. @type {Record<string, string>} */
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
  /** Messages whose text is still arriving, by their ids. @type {Map<string, MarkdownText>} */
  #open = new Map()
  /** Texts of the agent in this run, by the ids of its messages. @type {Map<string, { element: HTMLElement, words: string }>} */
  #answers = new Map()
  /** Calls of tools, by their ids. @type {Map<string, { element: HTMLElement, name: string, args: string }>} */
  #calls = new Map()
  /** @type {Set<string>} */
  #shown = new Set()
  /** Elements of all messages in the log, by the ids of the messages. @type {Map<string, HTMLElement>} */
  #messages = new Map()
  #run = ''
  /** True if the last stream of this page broke off before its end event. */
  #isBroken = false
  /** @type {AbortController | undefined} */
  #following
  /** The id of the conversation that begins with the first message. */
  #fresh = crypto.randomUUID()

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
    document.addEventListener('visibilitychange', this.#onVisibility)
    void this.#showHistory()
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.#onVisibility)
    this.#stopFollowing()
  }

  #onVisibility = () => {
    if (document.hidden) this.#stopFollowing()
    else void this.#follow()
  }

  /** @param {string} name @param {string | null} before @param {string | null} value */
  attributeChangedCallback(name, before, value) {
    if (!this.#isBegun || before === value) return
    if (name !== 'token') this.#clear()
    void this.#showHistory()
  }

  /** The function that returns the person's token if the `token` attribute does not. A page may set it after the element is connected. */
  get getToken() {
    return this.#getToken
  }

  set getToken(give) {
    this.#getToken = give
    if (this.#isBegun) void this.#showHistory()
  }

  /** Returns the id of the conversation: the attribute, or an id for this page and this visit. */
  get thread() {
    return this.getAttribute('thread') || sessionStorage.getItem(this.#key) || this.#fresh
  }

  /** Returns true if nothing was said yet: the page names no conversation, and its session stores none. */
  get #isNew() {
    return !this.getAttribute('thread') && sessionStorage.getItem(this.#key) === null
  }

  /**
   * Returns true if a request can identify the person. Another origin needs a token, which a page may set after the element is connected.
   */
  get #mayAsk() {
    const hasToken = this.#getToken !== undefined || Boolean(this.getAttribute('token'))
    return hasToken || Object.keys(this.headers).length > 0 || this.#isOwnOrigin
  }

  get #isOwnOrigin() {
    return URL.parse(this.endpoint, location.href)?.origin === location.origin
  }

  /** Returns the key under which the page's session stores the conversation once something was said. */
  get #key() {
    return `postern-chat ${this.endpoint}`
  }

  /** Clears the log, and starts a new conversation unless the page names one. */
  startAnew() {
    sessionStorage.removeItem(this.#key)
    this.#clear()
  }

  #clear() {
    this.#stopFollowing()
    this.#fresh = crypto.randomUUID()
    this.#shown.clear()
    this.#open.clear()
    this.#answers.clear()
    this.#calls.clear()
    this.#messages.clear()
    this.#log.replaceChildren()
  }

  get endpoint() {
    return (this.getAttribute('endpoint') ?? '').replace(/\/+$/, '')
  }

  /** Sends a text with the selected files. @param {string} text */
  async say(text) {
    const files = [...(this.#files.files ?? [])]
    if ((text.trim() === '' && files.length === 0) || this.#send.disabled) return
    this.#input.value = ''
    this.#files.value = ''
    this.#chips.textContent = ''
    const id = crypto.randomUUID()
    this.#shown.add(id)
    this.#write(id, [text, ...files.map(({ name }) => `[${name}]`)].filter(Boolean).join('\n'))
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

  /** Sends the person's decision about a question. @param {Resume} resume */
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
    this.#answers.clear()
    const body = {
      threadId: this.thread,
      protocolVersion: '1.0',
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
      ...input,
    }
    const [key, isFirst] = [this.#key, this.#isNew]
    if (isFirst) sessionStorage.setItem(key, this.#fresh)
    const headers = { 'content-type': 'application/json' }
    const answer = await this.#call('/runs', { method: 'POST', headers, body: JSON.stringify(body) }).catch(error => {
      // A refused message begins no conversation.
      if (isFirst) sessionStorage.removeItem(key)
      throw error
    })
    const [path, conversation] = [`/runs/${encodeURIComponent(input.runId)}/events`, this.#conversation]
    try {
      for await (const event of readRun(answer, () => this.#call(path))) {
        // The element may show another conversation by now.
        if (conversation !== this.#conversation) return
        this.#take(event)
        this.#isBroken = !isEnd(event)
      }
    } finally {
      // A stream can break off in the middle of a message, whose text so far stays.
      for (const text of this.#open.values()) text.end()
      this.#open.clear()
    }
  }

  /** Returns an identifier of the shown conversation that is unique among all agents. */
  get #conversation() {
    return `${this.endpoint} ${this.thread}`
  }

  /** Shows messages that arrive from elsewhere, such as from another tab. A hidden page follows nothing, because nobody sees it. */
  async #follow() {
    this.#stopFollowing()
    const isAble = this.isConnected && this.endpoint !== '' && !this.#isNew && this.#mayAsk
    if (!isAble || document.hidden || this.#send.disabled) return
    this.#following = new AbortController()
    const { signal } = this.#following
    for (let waitMs = 1_000; !signal.aborted; waitMs = Math.min(2 * waitMs, 30_000)) {
      const heard = await this.#readFollowed(signal)
      if (heard === 'nothing ever') return
      if (heard === 'something') waitMs = 1_000
      await sleep(waitMs, signal)
    }
  }

  /** Reads one event stream of the conversation until it ends. @param {AbortSignal} signal */
  async #readFollowed(signal) {
    let heard = 'nothing'
    try {
      const answer = await this.#call(`/threads/${encodeURIComponent(this.thread)}/events`, { signal })
      if (!isStream(answer)) return 'nothing ever'
      for await (const event of readEvents(answer)) {
        if (signal.aborted) return heard
        heard = 'something'
        this.#takeFollowed(event)
      }
    } catch (error) {
      if (isForGood(/** @type {Error} */ (error).cause)) return 'nothing ever'
    }
    if (!signal.aborted) this.#takeBackOpen()
    return heard
  }

  #stopFollowing() {
    if (this.#following === undefined) return
    this.#following.abort()
    this.#following = undefined
    this.#takeBackOpen()
  }

  /** Removes unfinished text of a run in another tab, because the stream repeats it from the beginning. */
  #takeBackOpen() {
    for (const id of this.#open.keys()) this.#takeBack(id)
    this.#open.clear()
  }

  /** @param {ChatEvent} event */
  #takeFollowed(event) {
    // The answers of a broken run stay, because a snapshot may still take them back.
    if (event?.type === 'RUN_STARTED' && !this.#isBroken) this.#answers.clear()
    if (event?.type === 'STEP_STARTED') {
      // Somebody may have decided elsewhere; the end of a run lists the questions that are still open.
      for (const box of this.#log.querySelectorAll('.ask')) box.remove()
      for (const id of this.#shown) if (id.startsWith('ask ')) this.#shown.delete(id)
    }
    this.#take(event)
    if (isEnd(event)) {
      this.#isBroken = false
      for (const text of this.#open.values()) text.end()
      this.#open.clear()
    }
  }

  /** @param {ChatEvent} event */
  #take(event) {
    this.dispatchEvent(new CustomEvent('postern-event', { detail: event }))
    const act = Object.hasOwn(this.#acts, event?.type) ? this.#acts[event.type] : undefined
    act?.(event)
    this.#scroll()
  }

  /** The effect of each type of event. @type {Record<string, (event: ChatEvent) => void>} */
  #acts = {
    TEXT_MESSAGE_START: ({ messageId }) => {
      this.#shown.add(messageId)
      this.#open.set(messageId, this.#writeAnswer(messageId))
    },
    TEXT_MESSAGE_CONTENT: ({ messageId, delta }) => {
      this.#open.get(messageId)?.append(readText(delta))
      const answer = this.#answers.get(messageId)
      if (answer) answer.words += readText(delta)
    },
    TEXT_MESSAGE_END: ({ messageId }) => {
      this.#open.get(messageId)?.end()
      this.#open.delete(messageId)
    },
    TOOL_CALL_START: ({ toolCallId, toolCallName }) => {
      this.#calls.set(toolCallId, {
        element: this.#note(`calls ${readText(toolCallName)}`),
        name: readText(toolCallName),
        args: '',
      })
    },
    TOOL_CALL_ARGS: ({ toolCallId, delta }) => {
      const call = this.#calls.get(toolCallId)
      if (call) call.args += readText(delta)
    },
    TOOL_CALL_RESULT: ({ toolCallId }) => {
      const call = this.#calls.get(toolCallId)
      if (call) call.element.textContent = `called ${call.name}`
    },
    CUSTOM: ({ name, value }) => {
      if (name === 'working') this.#note(typeof value === 'string' ? value : JSON.stringify(value))
    },
    RUN_ERROR: ({ message }) => {
      const said = [...this.#answers.values()].at(-1)?.words
      // A failed run reports its answer as its error, too, which is not shown twice.
      if (said === undefined || said !== message) this.#note(readText(message) || 'The agent could not answer.', 'bad')
    },
    RUN_FINISHED: ({ outcome }) => {
      for (const interrupt of listOf(outcome?.interrupts)) this.#ask(interrupt)
    },
    MESSAGES_SNAPSHOT: ({ messages }) => {
      const now = new Map(listOf(messages).map(({ id, content }) => [id, content]))
      // If an attempt was retried, its text is missing or different in the snapshot.
      for (const [id, { words }] of this.#answers) if (now.get(id) !== words) this.#takeBack(id)
      this.#showInOrder(listOf(messages))
    },
  }

  /**
   * Inserts each new message behind its predecessor, because the gateway may know messages that this page has not received.
   * @param {readonly { id: string, role: string, content: unknown }[]} messages
   */
  #showInOrder(messages) {
    /** @type {HTMLElement | undefined} */
    let before
    for (const message of messages) {
      const isNew = !this.#messages.has(message.id)
      this.#show(message)
      const element = this.#messages.get(message.id)
      if (isNew && element) before?.after(element)
      before = element ?? before
    }
  }

  /** @param {string} id */
  #takeBack(id) {
    this.#answers.get(id)?.element.remove()
    this.#answers.delete(id)
    this.#messages.delete(id)
    this.#shown.delete(id)
  }

  /** @param {Interrupt} interrupt */
  #ask(interrupt) {
    const { id, reason } = interrupt
    // A person answers a question without a form by a message.
    if (reason === 'input_required' || this.#shown.has(`ask ${id}`)) return
    this.#shown.add(`ask ${id}`)
    const call = interrupt.toolCallId === undefined ? undefined : this.#calls.get(interrupt.toolCallId)
    this.#log.append(
      makeQuestion(interrupt, {
        call,
        decide: (resume, words) => {
          this.#note(words)
          void this.#decide(resume)
        },
        reloadQuestions: () => {
          this.#shown.delete(`ask ${id}`)
          void this.#decideNothing()
        },
      }),
    )
  }

  /** Starts a run without a message, whose end lists the questions that are still open. */
  async #decideNothing() {
    this.#setBusy(true)
    await this.#start({ runId: crypto.randomUUID(), messages: [] }).catch(error => this.#note(error.message, 'bad'))
    this.#setBusy(false)
  }

  /** Loads the earlier messages of the conversation. The element also works without them. */
  async #showHistory() {
    if (this.endpoint === '' || this.#isNew || !this.#mayAsk) return
    const path = `/history?${new URLSearchParams({ threadId: this.thread })}`
    const conversation = this.#conversation
    const key = this.#key
    const answer = await this.#call(path).catch(({ cause }) => {
      // The conversation no longer exists.
      if (cause === 404) sessionStorage.removeItem(key)
    })
    const { messages = [] } = (await answer?.json().catch(() => undefined)) ?? {}
    // The element may show another conversation by now.
    if (conversation !== this.#conversation) return
    for (const message of listOf(messages)) this.#show(message)
    this.#scroll()
    void this.#follow()
  }

  /** @param {{ id: string, role: string, content: unknown }} message */
  #show({ id, role, content }) {
    const text = typeof content === 'string' ? content : ''
    if (this.#shown.has(id) || text === '' || !/^(user|assistant)$/.test(role)) return
    this.#shown.add(id)
    if (role === 'user') return void this.#write(id, text)
    const answer = this.#writeAnswer(id, text)
    answer.append(text)
    answer.end()
  }

  /** @param {File} file @param {string} run */
  async #upload(file, run) {
    const form = new FormData()
    form.set('threadId', this.thread)
    form.set('runId', run)
    form.set('file', file)
    // Attachments belong to the person, not to one agent.
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
    const target = path.startsWith('/attachments') ? attachmentsOf(this.endpoint) : this.endpoint
    const answer = await fetch(`${target}${path}`, {
      ...init,
      headers,
      credentials: this.#isOwnOrigin && !token ? 'same-origin' : 'omit',
    })
    if (answer.ok) return answer
    const { detail } = await answer.json().catch(() => ({ detail: undefined }))
    throw new Error(readText(detail) || `The chat cannot be reached (${answer.status}).`, { cause: answer.status })
  }

  /** Shows a message of the person, which is plain text. @param {string} id @param {string} text */
  #write(id, text) {
    const element = make('div', { class: 'message own', part: 'message own' }, linkify(text))
    this.#messages.set(id, element)
    this.#log.append(element)
    this.#scroll()
  }

  /** Shows an answer in Markdown, whose text may still be arriving. @param {string} id @param {string} [words] the text so far */
  #writeAnswer(id, words = '') {
    const element = make('div', { class: 'message markdown', part: 'message' })
    this.#log.append(element)
    this.#messages.set(id, element)
    this.#answers.set(id, { element, words })
    return new MarkdownText(element, () => this.#scroll())
  }

  #scroll() {
    this.#log.scrollTop = this.#log.scrollHeight
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
    // A run of this page has its own stream.
    if (isBusy) this.#stopFollowing()
    else void this.#follow()
    this.#stop.hidden = !isBusy
    this.#log.setAttribute('aria-busy', String(isBusy))
  }
}

/** @param {string} endpoint */
function attachmentsOf(endpoint) {
  return endpoint.replace(/\/agents\/[^/]+$/, '/agent')
}

if (!customElements.get('postern-chat')) customElements.define('postern-chat', PosternChat)
