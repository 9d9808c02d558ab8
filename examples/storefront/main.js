const list = document.querySelector("#orders");

function show(orders) {
  list.replaceChildren(
    ...orders.map(({ item, state }) => {
      const row = document.createElement("li");
      row.textContent = `${item}: ${state}`;
      return row;
    }),
  );
}

new EventSource("/api/events").onmessage = ({ data }) => show(JSON.parse(data));

if (import.meta.hot) {
  import.meta.hot.accept();
}
