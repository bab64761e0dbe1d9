// Shows what is new without a press of a button. What it puts into the page the server has written, with every word escaped.
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
  // What does not go through is shown by the page that says why.
  if (answer.type === 'opaqueredirect') text.value = ''
  else form.submit()
})

text.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  form.requestSubmit()
})
