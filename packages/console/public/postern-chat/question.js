/** Shows an agent's question, with its possible answers. */
import { linkify, make } from './elements.js'
import { readText } from './events.js'

/** @typedef {{ id: string, reason: string, message?: string, metadata?: any, responseSchema?: any, toolCallId?: string }} Interrupt */
/** @typedef {{ interruptId: string, status: 'resolved' | 'cancelled', payload?: unknown }} Resume */
/** @typedef {{ name: string, args: string }} Call a call of a tool */
/**
 * @typedef {object} QuestionDeps
 * @property {Call | undefined} call the call in question
 * @property {(resume: Resume, words: string) => void} decide
 * @property {() => void} reloadQuestions requests the questions that are still open
 */

/** Creates the element of a question. @param {Interrupt} interrupt @param {QuestionDeps} deps */
export function makeQuestion(interrupt, deps) {
  const isCall = interrupt.reason === 'tool_call'
  const title = readText(interrupt.metadata?.title) || (isCall ? 'Allow this?' : 'The agent asks')
  const element = make('div', { class: 'ask', role: 'group', 'aria-label': title })
  element.append(make('strong', {}, [title]), make('div', {}, linkify(readText(interrupt.message))))
  const call = describeCall(interrupt, deps.call)
  if (call) element.append(make('pre', {}, [call]))
  if (interrupt.responseSchema) element.append(...makeChoices(interrupt, element, deps))
  else element.append(makeDecisionLink(interrupt, element, deps))
  return element
}

/**
 * Describes the call in question. If the person may change its arguments, a separate field shows them.
 * @param {Interrupt} interrupt
 * @param {Call | undefined} call
 */
function describeCall({ metadata, responseSchema }, call) {
  const name = readText(metadata?.tool)
  if (responseSchema?.properties?.editedArgs !== undefined) return name
  if (call) return `${call.name} ${call.args}`
  return name && `${name} ${JSON.stringify(metadata.arguments ?? {})}`
}

/** Links to the page on which the person decides. @param {Interrupt} interrupt @param {HTMLElement} box @param {QuestionDeps} deps */
function makeDecisionLink({ reason, metadata }, box, { reloadQuestions }) {
  const url = metadata?.url
  if (!isAddress(url))
    return make('div', { class: 'note' }, [reason === 'postern:operator' ? 'An operator decides this.' : ''])
  const attributes = { href: url, target: '_blank', rel: 'noopener noreferrer' }
  const doneButton = make('button', { type: 'button' }, ['I have decided'])
  doneButton.addEventListener('click', () => {
    box.remove()
    reloadQuestions()
  })
  return make('div', { class: 'row' }, [make('a', attributes, ['Open the page to decide']), doneButton])
}

/**
 * Shows the possible decisions: yes or no, the duration, and changed arguments if they are allowed.
 * @param {Interrupt} interrupt
 * @param {HTMLElement} box
 * @param {QuestionDeps} deps
 */
function makeChoices({ id, responseSchema, metadata }, box, deps) {
  const originalArguments = JSON.stringify(metadata?.arguments ?? {}, null, 2)
  const argumentsField = /** @type {HTMLTextAreaElement} */ (
    make('textarea', { 'aria-label': 'Arguments, which you may change', rows: '4' })
  )
  argumentsField.value = originalArguments
  const problem = make('div', { class: 'note bad', role: 'alert' })
  const isEditable = responseSchema?.properties?.editedArgs !== undefined
  const rememberValues = responseSchema?.properties?.remember?.enum
  const durations = Array.isArray(rememberValues) ? rememberValues.map(readText) : []
  const durationSelect = make(
    'select',
    { 'aria-label': 'How long this counts' },
    durations.map(duration => make('option', { value: duration }, [duration])),
  )
  /** @param {boolean} approved */
  const decide = approved => {
    const remember = /** @type {HTMLSelectElement} */ (durationSelect).value
    const isEdited = approved && isEditable && argumentsField.value !== originalArguments
    const editedArgs = isEdited ? readJson(argumentsField.value) : undefined
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
  const row = make('div', { class: 'row' }, [yes, no, ...(durations.length > 0 ? [durationSelect] : [])])
  return isEditable ? [argumentsField, problem, row] : [row]
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
