/** Shows an agent's question, with its possible answers. */
import { linkify, make } from './elements.js'
import { asText } from './events.js'

/** @typedef {{ id: string, reason: string, message?: string, metadata?: any, responseSchema?: any, toolCallId?: string }} Interrupt */
/** @typedef {{ interruptId: string, status: 'resolved' | 'cancelled', payload?: unknown }} Resume */
/** @typedef {{ name: string, args: string }} Call a call of a tool */
/**
 * @typedef {object} QuestionDeps
 * @property {Call | undefined} call the call in question
 * @property {(resume: Resume, words: string) => void} decide
 * @property {() => void} lookAgain requests the questions that are still open
 */

/** Creates the element of a question. @param {Interrupt} interrupt @param {QuestionDeps} deps */
export function makeQuestion(interrupt, deps) {
  const isCall = interrupt.reason === 'tool_call'
  const title = asText(interrupt.metadata?.title) || (isCall ? 'Allow this?' : 'The agent asks')
  const box = make('div', { class: 'ask', role: 'group', 'aria-label': title })
  box.append(make('strong', {}, [title]), make('div', {}, linkify(asText(interrupt.message))))
  const call = nameCall(interrupt, deps.call)
  if (call) box.append(make('pre', {}, [call]))
  if (interrupt.responseSchema) box.append(...makeChoices(interrupt, box, deps))
  else box.append(linkTo(interrupt, box, deps))
  return box
}

/**
 * Describes the call in question. If the person may change its arguments, a separate field shows them.
 * @param {Interrupt} interrupt
 * @param {Call | undefined} call
 */
function nameCall({ metadata, responseSchema }, call) {
  const name = asText(metadata?.tool)
  if (responseSchema?.properties?.editedArgs !== undefined) return name
  if (call) return `${call.name} ${call.args}`
  return name && `${name} ${JSON.stringify(metadata.arguments ?? {})}`
}

/** Links to the page on which the person decides. @param {Interrupt} interrupt @param {HTMLElement} box @param {QuestionDeps} deps */
function linkTo({ reason, metadata }, box, { lookAgain }) {
  const url = metadata?.url
  if (!isAddress(url))
    return make('div', { class: 'note' }, [reason === 'postern:operator' ? 'An operator decides this.' : ''])
  const attributes = { href: url, target: '_blank', rel: 'noopener noreferrer' }
  const again = make('button', { type: 'button' }, ['I have decided'])
  again.addEventListener('click', () => {
    box.remove()
    lookAgain()
  })
  return make('div', { class: 'row' }, [make('a', attributes, ['Open the page to decide']), again])
}

/**
 * Shows the possible decisions: yes or no, the duration, and changed arguments if they are allowed.
 * @param {Interrupt} interrupt
 * @param {HTMLElement} box
 * @param {QuestionDeps} deps
 */
function makeChoices({ id, responseSchema, metadata }, box, deps) {
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
    const payload = { approved, ...(isEdited && { editedArgs }), ...(remember && remember !== 'once' && { remember }) }
    deps.decide({ interruptId: id, status: 'resolved', payload }, approved ? 'You allowed it.' : 'You declined it.')
  }
  const yes = make('button', { type: 'button', class: 'main' }, ['Allow'])
  const no = make('button', { type: 'button' }, ['Decline'])
  yes.addEventListener('click', () => decide(true))
  no.addEventListener('click', () => decide(false))
  const row = make('div', { class: 'row' }, [yes, no, ...(reaches.length > 0 ? [reach] : [])])
  return isEditable ? [edit, problem, row] : [row]
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
