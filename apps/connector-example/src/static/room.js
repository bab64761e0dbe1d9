// Shows new entries without a click. The server has rendered everything that it inserts, with all text escaped.
const list = document.getElementById('entries')
const events = new EventSource(list.dataset.events)

events.addEventListener('entry', ({ data }) => {
  const { id, html } = JSON.parse(data)
  const known = document.getElementById(id)
  if (known) known.outerHTML = html
  else list.insertAdjacentHTML('beforeend', html)
})

const form = document.getElementById('say')
const text = form.elements.namedItem('text')

form.addEventListener('submit', async event => {
  event.preventDefault()
  const body = new URLSearchParams(new FormData(form))
  const answer = await fetch(form.action, { method: 'POST', body, redirect: 'manual' })
  // A refused message is sent again as a form, so that the browser shows the page with the reason.
  if (answer.type === 'opaqueredirect') text.value = ''
  else form.submit()
})

text.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  form.requestSubmit()
})
